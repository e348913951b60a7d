import { readFileSync } from "node:fs";
import { getCompiledPath } from "./program.ts";

const packResult = JSON.parse(readFileSync(getCompiledPath("tarball.json"), "utf8")) as {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
};

/**
 * Path of the tarball that `npm pack` creates from this checkout, including the build. It is packed once for all tests
 * of a run.
 */
export const tarballPath = getCompiledPath(packResult.filename);

/** Paths of all files in the tarball. */
export const packedFiles: readonly string[] = packResult.files.map(({ path }) => path);
