import { createRequire } from "node:module";
import { join } from "node:path";
import { installNpmPackages } from "./installation.ts";

/** A third-party package that tests use. */
export interface Library {
  /** Reason why the package is missing, or undefined if it is installed. */
  readonly missing: string | undefined;
  /** Loads the package or one of its dependencies. A declaration next to the test provides the types. */
  load<Exports>(packageName: string): Exports;
}

/**
 * Installs `name@version`, a package with so many files that each `npm ci` of the project would take half as long
 * again.
 */
export async function installLibrary(pinned: string): Promise<Library> {
  const installation = await installNpmPackages(pinned);
  return {
    missing: installation.missing,
    load(packageName) {
      if (installation.missing !== undefined) throw new Error(installation.missing);
      return createRequire(join(installation.folder, "package.json"))(packageName);
    },
  };
}
