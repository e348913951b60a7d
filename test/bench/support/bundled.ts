import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundle } from "../../../build/build.ts";

const root = new URL("../../../", import.meta.url).pathname;

/**
 * Builds the package from the current sources into a new folder, `bin/svc.js` and `dist/`. `run.ts` builds once for all
 * benchmarks and passes the folder in the environment.
 */
export async function bundlePackage(): Promise<{ readonly folder: string; remove(): Promise<void> }> {
  const existing = process.env.SVC_BENCH_BUNDLE;
  if (existing) return { folder: existing, remove: async () => {} };
  const folder = await mkdtemp(join(tmpdir(), "svc-bundle-"));
  for (const part of ["bin", "package.json"]) await cp(join(root, part), join(folder, part), { recursive: true });
  await bundle(join(folder, "dist"));
  return { folder, remove: () => rm(folder, { recursive: true }) };
}
