import { join } from "node:path";

/** What tests start in processes of their own, by the names of the compiled files. */
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
  // The name by which the emulator looks for it.
  "pdf-process": "emulator/cluster/pdf/process.ts",
} as const;

/** The file of a program, to be started by Node as it is. */
export const program = (name: keyof typeof programs): string => compiled(`${name}.js`);

/** A file or folder of what `test/run.ts` made for this run. */
export function compiled(name: string): string {
  const folder = process.env.SVC_TEST_COMPILED;
  if (folder === undefined) throw new Error("Tests are started by npm test, which compiles what they start");
  return join(folder, name);
}
