import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { TrueTypeFont } from "./true-type.ts";

/** The fonts of documents: DejaVu Sans, whose license allows embedding. */
export const fontFiles = { regular: "DejaVuSans.ttf", bold: "DejaVuSans-Bold.ttf" } as const;

let loaded: Promise<{ readonly regular: TrueTypeFont; readonly bold: TrueTypeFont }> | undefined;

/** Loaded for the first generated document. */
export function loadFonts() {
  loaded ??= Promise.all([loadFont(fontFiles.regular), loadFont(fontFiles.bold)]).then(([regular, bold]) => ({
    regular,
    bold,
  }));
  return loaded;
}

const loadFont = async (name: string): Promise<TrueTypeFont> =>
  new TrueTypeFont(await readFontFile(name), name.replace(/\.ttf$/, ""));

/** The build writes reduced versions next to the bundle. Otherwise they are read from their package. */
const readFontFile = (name: string): Promise<Buffer> =>
  readFile(new URL(`./fonts/${name}`, import.meta.url)).catch(() =>
    readFile(createRequire(import.meta.url).resolve(`dejavu-fonts-ttf/ttf/${name}`)),
  );
