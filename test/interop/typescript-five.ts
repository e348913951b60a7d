// The generator imports the compiler's API by default, which TypeScript 7 does not have; this package bundles 5.
// biome-ignore lint/style/noDefaultExport: the generator asks for it.
export { ts as default } from "@ts-morph/common";
