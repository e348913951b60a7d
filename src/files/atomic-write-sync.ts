import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";

/**
 * `writeFileAtomic` for a process that is about to end and can wait for nothing: whole or not there, also after a power cut,
 * but its name may be lost in one. What it is called until then is known by the process alone, not by chance: loading
 * what makes random bytes would be felt at the start of every command.
 */
export function writeFileAtomicSync(path: string, content: Uint8Array): void {
  const aside = `${path}.${process.pid}.svc-tmp`;
  try {
    const file = openSync(aside, "w", 0o600);
    try {
      writeFileSync(file, content);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(aside, path);
  } catch (error) {
    rmSync(aside, { force: true });
    throw error;
  }
}
