import { createRequire } from "node:module";
import { join } from "node:path";
import { npmPackages } from "./installed.ts";

/** A package of others that tests call. */
export interface Library {
  /** Why it cannot be had; undefined where it is there. */
  readonly missing: string | undefined;
  /** What it exports, or what a package exports that it brings along: a declaration beside the test says it in types. */
  load<Exports>(packageName: string): Exports;
}

/** One whose files are so many that each `npm ci` of the project would take half as long again: `name@version`. */
export async function library(pinned: string): Promise<Library> {
  const made = await npmPackages(pinned);
  return {
    missing: made.missing,
    load(packageName) {
      if (made.missing !== undefined) throw new Error(made.missing);
      return createRequire(join(made.folder, "package.json"))(packageName);
    },
  };
}
