import { readFileSync } from "node:fs";
import type { Metafile } from "esbuild";
import { getCompiledPath } from "./program.ts";

/** Returns the folder of the package, `bin` and `dist`, which is built once for all tests of a run. */
export const getPackageFolder = (): string => getCompiledPath("package");

/** Returns the folder of the package's bundle. */
export const getBundleFolder = (): string => getCompiledPath("package/dist");

/** Returns the file that npm links as `svc`, to run with Node. */
export const getSvcPath = (): string => getCompiledPath("package/bin/svc.js");

/** Reads the bundler's metafile of the command line. */
export const readMetafile = (): Metafile => JSON.parse(readFileSync(getCompiledPath("metafile.json"), "utf8"));

/** Reads the bundler's metafile of the console page. */
export const readConsoleMetafile = (): Metafile => JSON.parse(readFileSync(getCompiledPath("console.json"), "utf8"));
