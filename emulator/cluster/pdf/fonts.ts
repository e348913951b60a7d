import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { TrueTypeFont } from "./true-type.ts";

/** The fonts of documents: DejaVu Sans, whose licence lets anyone embed it. */
export const fontFiles = { regular: "DejaVuSans.ttf", bold: "DejaVuSans-Bold.ttf" } as const;

let loaded: Promise<{ readonly regular: TrueTypeFont; readonly bold: TrueTypeFont }> | undefined;

/** Read by the first document that is made. */
export function loadFonts() {
  loaded ??= Promise.all([loadFont(fontFiles.regular), loadFont(fontFiles.bold)]).then(([regular, bold]) => ({
    regular,
    bold,
  }));
  return loaded;
}

const loadFont = async (name: string): Promise<TrueTypeFont> =>
  new TrueTypeFont(await readFontFile(name), name.replace(/\.ttf$/, ""));

/** The build writes them next to the bundle, reduced; without it they are read from their package. */
const readFontFile = (name: string): Promise<Buffer> =>
  readFile(new URL(`./fonts/${name}`, import.meta.url)).catch(() =>
    readFile(createRequire(import.meta.url).resolve(`dejavu-fonts-ttf/ttf/${name}`)),
  );
