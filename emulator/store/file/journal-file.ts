import { basename, dirname } from "node:path";
import { tryParseJson } from "../../../src/base/object.ts";
import { svcVersion } from "../../../src/base/version.ts";
import type { Disk, DiskFile } from "../../../src/files/disk.ts";
import { formatFirstLine, type LogPosition } from "../../../src/files/log-line.ts";
import { type LogEnd, readLog } from "../../../src/files/read-log.ts";
import { formatVersion, requireFormat } from "../journal/document.ts";
import { applyChecked } from "../journal/journal-line.ts";
import { type Change, parseChanges, type State } from "../live/state.ts";
import type { Upgrade } from "../live/versions.ts";
import { StateFormatError } from "../port.ts";

/**
 * The first line of a journal. `after` is the generation of the previous journal. Its rows have the versions of its
 * checkpoint. A state with other versions gets a new checkpoint before anything is written.
 */
interface Header {
  readonly svc_journal: number;
  readonly written_by?: string;
  readonly generation: number;
  readonly after: number;
}

export const getJournalPath = (statePath: string, generation: number): string => `${statePath}.journal.${generation}`;

/** Returns the generation of a journal of the state with that name, or undefined for any other file. */
export function parseJournalName(name: string, stateName: string): number | undefined {
  const prefix = `${stateName}.journal.`;
  const suffix = name.startsWith(prefix) ? name.slice(prefix.length) : "";
  return /^\d+$/.test(suffix) ? Number(suffix) : undefined;
}

export async function listJournalGenerations(disk: Disk, statePath: string): Promise<number[]> {
  const names = await disk.list(dirname(statePath));
  return names.flatMap((name) => parseJournalName(name, basename(statePath)) ?? []).sort((a, b) => a - b);
}

/** Durably creates an empty journal. The file is open for writing at `length`. */
export async function createJournal(
  disk: Disk,
  statePath: string,
  generation: number,
  after: number,
): Promise<{ readonly file: DiskFile; readonly length: number }> {
  const path = getJournalPath(statePath, generation);
  const header: Header = { svc_journal: formatVersion, written_by: svcVersion, generation, after };
  const bytes = formatFirstLine(JSON.stringify(header));
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

/*
 * If the last group of a journal is lost completely, its own file does not show it, nor does a last journal that was
 * truncated at the end of a line. Other files do: the next journal continues with the next number, a journal that
 * continues in another one names it in its last line, and the checkpoint records whether a journal follows it.
 */

export interface JournalContent extends Omit<LogEnd, "damage"> {
  readonly path: string;
  readonly generation: number;
  readonly transactions: number;
  /** The generation of the next journal, which the last line names. */
  readonly next: number | undefined;
}

function parseHeader(json: string): Header {
  const header = tryParseJson(json) as Partial<Header> | null | undefined;
  if (header?.svc_journal === undefined) throw new StateFormatError("this is not the first line of a journal");
  requireFormat(header.svc_journal, header.written_by);
  if (!Number.isSafeInteger(header.generation) || !Number.isSafeInteger(header.after)) {
    throw new StateFormatError("the first line has no generation");
  }
  return header as Header;
}

/** Applies journals to the state of a checkpoint, oldest first. */
export class Replay {
  /** Journals that were read completely. */
  readonly journals: JournalContent[] = [];
  /** Journals that contain nothing, because their first line is incomplete. */
  readonly emptyJournals: string[] = [];
  /** The number of applied transactions, including those of a damaged journal. */
  transactions = 0;
  /** The end of the chain so far. Undefined if its beginning is unknown. */
  position: LogPosition | undefined;
  readonly #disk: Disk;
  readonly #reader: { readonly state: State; readonly upgrade: Upgrade };
  /** The generation that follows the checkpoint. Undefined if there is no checkpoint. */
  readonly #firstGeneration: number | undefined;
  #isTorn = false;
  /** Generations whose lines are applied, together with all earlier lines. */
  readonly #appliedGenerations = new Set<number>();

  constructor(
    disk: Disk,
    reader: { readonly state: State; readonly upgrade: Upgrade },
    checkpoint: { readonly generation: number; readonly position: LogPosition | undefined } | undefined,
  ) {
    this.#disk = disk;
    this.#reader = reader;
    this.#firstGeneration = checkpoint?.generation;
    this.position = checkpoint?.position;
  }

  /**
   * Reads and applies the next journal. Fails with StateFormatError, which names file and line. Changes before that
   * line stay.
   */
  async add(path: string): Promise<void> {
    let lineCount = 0;
    let generation: number | undefined;
    let transactions = 0;
    let next: number | undefined;
    const reading = readLog(this.#disk, path, {
      visitFirst: (json) => {
        lineCount = 1;
        generation = this.#follow(parseHeader(json));
        return this.position;
      },
      visitLine: (json) => {
        lineCount += 1;
        if (next !== undefined) throw new StateFormatError("it is after the last line of the journal");
        const value = tryParseJson(json) as { readonly next?: unknown; readonly changes?: unknown } | null;
        // The last line names the generation that continues it.
        if (Number.isSafeInteger(value?.next)) next = value!.next as number;
        else {
          this.#apply(parseChanges(value?.changes));
          transactions += 1;
        }
      },
    });
    const { damage, ...end } = await reading.catch((cause) => {
      if (!(cause instanceof StateFormatError)) throw cause;
      const { message, repairable } = cause;
      throw new StateFormatError(`${path}, line ${lineCount}: ${message}`, { cause, repairable });
    });
    if (damage) throw new StateFormatError(`${path}, line ${damage.line}: ${damage.reason}`);
    this.#isTorn ||= end.torn;
    if (generation === undefined) {
      this.emptyJournals.push(path);
      return;
    }
    this.position = end.position ?? this.position;
    this.journals.push({ path, generation, transactions, next, ...end });
  }

  #follow({ generation, after }: Header): number {
    const isFirst = this.#firstGeneration === undefined || generation === this.#firstGeneration;
    if (!isFirst && !this.#appliedGenerations.has(after))
      throw new StateFormatError(`the previous journal (generation ${after}) is missing`);
    this.#appliedGenerations.add(generation);
    return generation;
  }

  #apply(changes: readonly Change[] | undefined): void {
    if (changes === undefined) throw new StateFormatError("the line does not contain changes");
    if (this.#isTorn) throw new StateFormatError("the journal before this one ends in a damaged line");
    if (this.#firstGeneration === undefined)
      throw new StateFormatError("its state file is missing", { repairable: false });
    applyChecked(this.#reader.state, changes, this.#reader.upgrade);
    this.transactions += 1;
  }
}
