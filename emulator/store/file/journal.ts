import { basename, dirname } from "node:path";
import { tryParseJson } from "../../../src/base/object.ts";
import { svcVersion } from "../../../src/base/version.ts";
import type { Disk, DiskFile } from "../../../src/files/disk.ts";
import { formatFirstLine, type LogPosition } from "../../../src/files/log-line.ts";
import { type LogEnd, readLog } from "../../../src/files/read-log.ts";
import { type Change, parseChanges, type State } from "../live/state.ts";
import { SchemaMismatchError, type Upgrade } from "../live/versions.ts";
import { StateFormatError } from "../port.ts";
import type { CheckpointHead } from "./checkpoint-file.ts";
import { formatVersion, requireFormat, validateRow } from "./document.ts";

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

export async function listJournalGenerations(disk: Disk, statePath: string): Promise<number[]> {
  const prefix = `${basename(statePath)}.journal.`;
  const names = await disk.list(dirname(statePath));
  return names
    .filter((name) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
    .map((name) => Number(name.slice(prefix.length)))
    .sort((a, b) => a - b);
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
  /** Undefined if the first line is incomplete. */
  readonly header: Header | undefined;
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

/** The position from which the journals continue. Undefined if there is no checkpoint. */
type JournalStart = (Pick<CheckpointHead, "generation"> & { readonly position: LogPosition | undefined }) | undefined;

/** Applies journals to the state of a checkpoint, oldest first. */
export class Replay {
  /** Journals that were read completely. */
  readonly journals: JournalContent[] = [];
  /** The number of applied transactions, including those of a damaged journal. */
  transactions = 0;
  /** The end of the chain so far. Undefined if its beginning is unknown. */
  position: LogPosition | undefined;
  readonly #disk: Disk;
  readonly #state: State;
  readonly #upgrade: Upgrade;
  readonly #base: JournalStart;
  /** Generations whose lines are applied, together with all earlier lines. */
  readonly #appliedGenerations = new Set<number>();

  constructor(
    disk: Disk,
    { state, upgrade }: { readonly state: State; readonly upgrade: Upgrade },
    base: JournalStart,
  ) {
    this.#disk = disk;
    this.#state = state;
    this.#upgrade = upgrade;
    this.#base = base;
    this.position = base?.position;
  }

  /**
   * Reads and applies the next journal. Fails with StateFormatError, which names file and line. Changes before that
   * line stay.
   */
  async add(path: string): Promise<void> {
    let lineCount = 0;
    let header: Header | undefined;
    let transactions = 0;
    let next: number | undefined;
    const reading = readLog(this.#disk, path, {
      visitFirst: (json) => {
        lineCount = 1;
        header = parseHeader(json);
        this.#follow(header);
        return this.position;
      },
      visitLine: (json) => {
        lineCount += 1;
        if (next !== undefined) throw new StateFormatError("it is after the last line of the journal");
        const value = tryParseJson(json) as { readonly next?: unknown; readonly changes?: unknown } | null;
        // The last line names the generation that continues it.
        if (Number.isSafeInteger(value?.next)) next = value!.next as number;
        else {
          const changes = parseChanges(value?.changes);
          if (changes === undefined) throw new StateFormatError("the line does not contain changes");
          this.#apply(changes);
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
    this.position = end.position ?? this.position;
    this.journals.push({ path, header, transactions, next, ...end });
  }

  #follow({ generation, after }: Header): void {
    if (this.#base !== undefined && generation !== this.#base.generation && !this.#appliedGenerations.has(after)) {
      throw new StateFormatError(`the previous journal (generation ${after}) is missing`);
    }
    this.#appliedGenerations.add(generation);
  }

  #apply(changes: readonly Change[]): void {
    if (this.journals.some(({ torn }) => torn))
      throw new StateFormatError("the journal before this one ends in a damaged line");
    if (this.#base === undefined) throw new StateFormatError("its state file is missing", { repairable: false });
    applyChecked(this.#state, changes, this.#upgrade);
    this.transactions += 1;
  }
}

/**
 * Applies all changes of a line or none. Rows come from outside, so they are validated first unless they are trusted.
 * Fails with SchemaMismatchError.
 */
export function applyChecked(state: State, changes: readonly Change[], upgrade: Upgrade, isTrusted = false): void {
  for (const change of changes.map((each) => checkChange(state, each, upgrade, isTrusted))) state.apply(change);
}

function checkChange(state: State, change: Change, upgrade: Upgrade, isTrusted: boolean): Change {
  const [kind, collection] = change;
  if (kind === "put" && isTrusted && state.rows.has(collection)) return change;
  if (kind === "put") return ["put", collection, validateRow(state, upgrade, collection, change[2], "The row")];
  const isKnown = kind === "next" || (kind === "delete" ? state.rows : state.mappings).has(collection);
  if (!isKnown) throw new SchemaMismatchError(`this version of svc has no collection ${collection}`);
  return change;
}
