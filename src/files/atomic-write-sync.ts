import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";

/**
 * `writeFileAtomic` for a process that is about to end and cannot wait. The file is complete or missing, even after a
 * power failure, which may lose its name. The temporary name contains the process ID and not random bytes, because
 * loading `crypto` would slow the start of every command.
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
