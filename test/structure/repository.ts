import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** A text file of the project. The path is relative to the root, with forward slashes. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

export const root = fileURLToPath(new URL("../../", import.meta.url));

const passedOver = new Set(["node_modules", "dist", "coverage", ".git", ".svc"]);

function* walk(folder: string): Generator<string> {
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory() && !passedOver.has(entry.name)) yield* walk(path);
    if (entry.isFile()) yield path;
  }
}

/** Every path of the project, without installed or built files. */
export const allPaths: readonly string[] = [...walk("")].sort();

const read = (path: string): SourceFile => ({ path, text: readFileSync(join(root, path), "utf8") });

/** Reads the files in a folder with an extension. */
export const readFilesIn = (folder: string, ending = ".ts"): SourceFile[] =>
  allPaths.filter((path) => path.startsWith(`${folder}/`) && path.endsWith(ending)).map(read);

/** The published code: the command line, the emulator, the console and the binary. */
export const sources: readonly SourceFile[] = [
  ...readFilesIn("src"),
  ...readFilesIn("src/console", ".tsx"),
  ...readFilesIn("emulator"),
  ...readFilesIn("bin", ".js"),
];

export const tests: readonly SourceFile[] = readFilesIn("test");

/** The hand-written pages. */
export const documents: readonly SourceFile[] = allPaths
  .filter((path) => path.endsWith(".md") && path !== "docs/reference.md")
  .map(read);

/** Removes comments, so that calls in prose do not count. */
export const omitComments = (text: string): string =>
  // A double slash in a URL follows a colon. One that starts a comment follows white space or the start of a line.
  text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "$1");

/** Files that build and license the project, outside its folders. */
export const rootFiles: readonly SourceFile[] = allPaths.filter((path) => /^[^/]+\.ts$/.test(path)).map(read);

const comment = /\/\*[\s\S]*?\*\/|(?:^|(?<=\s))\/\/.*$/;
const parenthesizedCitation = /\((?:[\w-]+\.md, )?[A-Z]\d{1,2}(?:(?:, | and )[A-Z]\d{1,2})*\)/;

/** Extracts comments, and references in parentheses within strings. */
export const extractProse = (text: string): string =>
  [...text.matchAll(new RegExp(`${comment.source}|${parenthesizedCitation.source}`, "gm"))]
    .map(([match]) => match)
    .join("\n");
