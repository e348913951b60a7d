import { existsSync } from "node:fs";
import { join } from "node:path";

/** Programs that tests start in separate processes, by the names of the compiled files. */
export const programs = {
  svc: "test/support/cli/svc-process.ts",
  "svc-made-up-scheme": "test/support/cli/svc-made-up-scheme.ts",
  "svc-few-files": "test/support/cli/few-files.ts",
  "lock-taker": "test/support/cli/lock-taker.ts",
  "lock-holder": "test/support/files/lock-holder.ts",
  "store-writer": "test/emulator/store/file/writer.ts",
  "postgres-writer": "test/emulator/store/postgres/writer.ts",
  "sharing-process": "test/support/postgres/sharing-process.ts",
  "blob-collector": "test/emulator/store/file/collector.ts",
  // The emulator looks for the reader under this name.
  "pdf-process": "emulator/cluster/pdf/process.ts",
} as const;

/**
 * Returns the path of a compiled program that Node can run. `svc` is the program of the package if this run builds one,
 * because it starts in a fifth of the time.
 */
export function getProgramPath(name: keyof typeof programs): string {
  const built = getCompiledPath("package/bin/svc.js");
  return name === "svc" && existsSync(built) ? built : getCompiledPath(`${name}.js`);
}

/** Returns the path of a file or folder that `test/run.ts` created for this run. */
export function getCompiledPath(name: string): string {
  const folder = process.env.SVC_TEST_COMPILED;
  if (folder === undefined) throw new Error("Tests are started by npm test, which compiles what they start");
  return join(folder, name);
}
