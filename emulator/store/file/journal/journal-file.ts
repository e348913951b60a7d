import { basename, dirname } from "node:path";
import { svcVersion } from "../../../../src/base/version.ts";
import type { Disk, DiskFile } from "../../../../src/files/disk.ts";
import { firstLine } from "../../../../src/files/log-line.ts";
import { formatVersion } from "../document.ts";

/**
 * The first line of a journal. `after` is the generation whose lines come before its own. The versions of its rows are
 * those of the checkpoint that it follows: a state of other versions gets a new checkpoint before anything is written.
 */
export interface Header {
  readonly svc_journal: number;
  readonly written_by?: string;
  readonly generation: number;
  readonly after: number;
}

export const journalPath = (statePath: string, generation: number): string => `${statePath}.journal.${generation}`;

/** The generations of the journals that lie next to a state file, ascending. */
export async function journalGenerations(disk: Disk, statePath: string): Promise<number[]> {
  const prefix = `${basename(statePath)}.journal.`;
  const names = await disk.list(dirname(statePath));
  return names
    .filter((name) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
    .map((name) => Number(name.slice(prefix.length)))
    .sort((a, b) => a - b);
}

/** Creates an empty journal, durably; the file is open for writing at `length`. */
export async function createJournal(
  disk: Disk,
  statePath: string,
  generation: number,
  after: number,
): Promise<{ readonly file: DiskFile; readonly length: number }> {
  const path = journalPath(statePath, generation);
  const header: Header = { svc_journal: formatVersion, written_by: svcVersion, generation, after };
  const bytes = firstLine(JSON.stringify(header));
  const file = await disk.create(path);
  try {
    await file.write(bytes, 0);
    await file.sync();
    await disk.syncFolder(dirname(path));
  } catch (cause) {
    await file.close().catch(() => {});
    await disk.remove(path).catch(() => {});
    throw cause;
  }
  return { file, length: bytes.byteLength };
}
