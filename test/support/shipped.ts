import { readFileSync } from "node:fs";
import type { Metafile } from "esbuild";
import { compiled } from "./program.ts";

/** The folder of what ships, `bin` and `dist`: made once for all tests of a run, where one imports this module. */
export const shipped = (): string => compiled("package");

/** The folder of its bundle. */
export const shippedBundle = (): string => compiled("package/dist");

/** What npm links as `svc`: to be run by Node. */
export const shippedSvc = (): string => compiled("package/bin/svc.js");

/** What the bundler told of the command line's part. */
export const metafile = (): Metafile => JSON.parse(readFileSync(compiled("metafile.json"), "utf8"));

/** The same of the page of the console. */
export const consoleMetafile = (): Metafile => JSON.parse(readFileSync(compiled("console.json"), "utf8"));
