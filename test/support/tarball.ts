import { readFileSync } from "node:fs";
import { compiled } from "./program.ts";

const told = JSON.parse(readFileSync(compiled("tarball.json"), "utf8")) as {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
};

/** What `npm pack` makes of this checkout, its build included: packed once for all tests of a run. */
export const tarball = compiled(told.filename);

/** The paths of all files in it. */
export const packedFiles: readonly string[] = told.files.map(({ path }) => path);
