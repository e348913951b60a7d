import { basename, dirname } from "node:path";
import type { Disk, DiskFile } from "./disk.ts";
import { refuseVersion, schemaVersion } from "./document.ts";
import { changesOf, type Written } from "./journal-changes.ts";
import { journalLine, parseJournalLine } from "./journal-line.ts";
import { readLines } from "./lines.ts";
import type { Change } from "./state.ts";
import { StateRefused } from "./store.ts";

/** The first line of a journal. `after` is the generation whose lines come before its own. */
export interface Header {
  readonly svc_journal: number;
  readonly generation: number;
  readonly after: number;
}

/** What a journal holds. */
export interface JournalContent {
  readonly path: string;
  /** Undefined when not even the first line was written whole. */
  readonly header: Header | undefined;
  /** Transactions in it. */
  readonly transactions: number;
  /** Where its good lines end, in bytes. */
  readonly length: number;
  /** Whether something stands after them: a last line that was never acknowledged. */
  readonly torn: boolean;
}

export const journalPath = (statePath: string, generation: number): string => `${statePath}.journal.${generation}`;

/** The generations of the journals that lie beside a state file, ascending. */
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
  const header: Header = { svc_journal: schemaVersion, generation, after };
  const bytes = journalLine(JSON.stringify(header));
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

/**
 * Hands the transactions of a journal to `take`, in order, after its header to `begin`. Both may refuse. A last line without a newline, or with a wrong checksum, is
 * a write that a crash cut short: it is left out. Any other damage fails with StateRefused, which names file and line.
 */
export async function readJournal(
  disk: Disk,
  path: string,
  begin: (header: Header) => void,
  take: (changes: readonly Change[]) => void,
): Promise<JournalContent> {
  let header: Header | undefined;
  let line = 0;
  let length = 0;
  for await (const { bytes, offset, last } of readLines(disk, path)) {
    for (let at = 0; at < bytes.byteLength; ) {
      const newline = bytes.indexOf("\n", at);
      const end = newline === -1 ? bytes.byteLength : newline + 1;
      const value = newline === -1 ? undefined : parseJournalLine(bytes.subarray(at, newline));
      line += 1;
      if (value === undefined) {
        if (last && end === bytes.byteLength)
          return { path, header, transactions: Math.max(0, line - 2), length, torn: true };
        throw new StateRefused(`${path}, line ${line}: the checksum of the line does not fit`);
      }
      try {
        if (line > 1) {
          take(changesOf(value as Written[]));
        } else {
          header = headerOf(value);
          begin(header);
        }
      } catch (cause) {
        if (!(cause instanceof StateRefused)) throw cause;
        const { message, repairable } = cause;
        throw new StateRefused(`${path}, line ${line}: ${message}`, { cause, repairable });
      }
      at = end;
      length = offset + end;
    }
  }
  return { path, header, transactions: Math.max(0, line - 1), length, torn: false };
}

function headerOf(value: unknown): Header {
  const header = value as Partial<Header>;
  if (header.svc_journal === undefined) throw new StateRefused("this is not the first line of a journal");
  if (header.svc_journal !== schemaVersion) refuseVersion(header.svc_journal);
  return header as Header;
}
