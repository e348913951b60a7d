import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { build, type Metafile } from "esbuild";
import { deriveSpecs } from "./src/derive/specs.ts";

/** What ships: the command line, and what other people's programs import. */
export const entryPoints = {
  main: "src/cli/entry.ts",
  emulator: "emulator/index.ts",
  client: "src/client/index.ts",
  webhooks: "src/schemes/webhook.ts",
};

// CommonJS packages inside an ES module bundle call require; every chunk needs its own.
const banner =
  'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);';

/** Bundles into `outdir`, and writes the command specs beside it. All chunks lie in one folder: they read files by it. */
export async function bundle(
  outdir: string,
  entries: Readonly<Record<string, string>> = entryPoints,
): Promise<Metafile> {
  // A build that fails leaves the last good one in place.
  const fresh = `${outdir}.new-${process.pid}`;
  const { metafile } = await build({
    entryPoints: { ...entries },
    outdir: fresh,
    chunkNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    banner: { js: banner },
    define: { SVC_BUILT: "true" },
    minifySyntax: true,
    // Optional companions of pdfjs, which draws nothing here.
    external: ["canvas", "@napi-rs/canvas", "path2d"],
    logLevel: "warning",
    metafile: true,
  });
  writeSpecs(`${fresh}/specs`);
  rmSync(outdir, { recursive: true, force: true });
  renameSync(fresh, outdir);
  return metafile;
}

function writeSpecs(folder: string): void {
  const specs = deriveSpecs();
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/groups.json`, JSON.stringify(Object.keys(specs)));
  for (const [group, commands] of Object.entries(specs)) {
    writeFileSync(`${folder}/${group}.json`, JSON.stringify(commands));
  }
}

if (import.meta.url === `file://${process.argv[1]}`) await bundle(new URL("dist", import.meta.url).pathname);
