import { basename, dirname } from "node:path";
import { tryParseJson } from "../../../src/base/object.ts";
import { svcVersion } from "../../../src/base/version.ts";
import type { Disk, DiskFile } from "../../../src/files/disk.ts";
import { firstLine, type LogPosition } from "../../../src/files/log-line.ts";
import { type LogEnd, readLog } from "../../../src/files/read-log.ts";
import { type Change, parseChanges, type State } from "../live/state.ts";
import { SchemaMismatchError, type Upgrade } from "../live/versions.ts";
import { StateFormatError } from "../port.ts";
import type { CheckpointHead } from "./checkpoint-file.ts";
import { formatVersion, requireFormat, validateRow } from "./document.ts";

/**
 * The first line of a journal. `after` is the generation whose lines come before its own. The versions of its rows are
 * those of the checkpoint that it follows: a state of other versions gets a new checkpoint before anything is written.
 */
interface Header {
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

/*
 * If the last group of a journal is lost as a whole, its own file does not show it, and neither does a last journal
 * that was cut at the end of a line. Other files do: the next journal continues with the next number; a journal that
 * continues in another one says so in its last line; the checkpoint says whether a journal follows it.
 */

/** Contents of a journal. */
export interface JournalContent extends Omit<LogEnd, "damage"> {
  readonly path: string;
  /** Undefined when not even the first line was written whole. */
  readonly header: Header | undefined;
  /** Transactions in it. */
  readonly transactions: number;
  /** The generation in which it says that it continues. */
  readonly next: number | undefined;
}

/** Receivers of the contents of a journal, in order. Both may reject with StateFormatError. */
interface JournalVisitor {
  /** Returns the position that the first line has to follow; undefined when any will do. */
  begin(header: Header): LogPosition | undefined;
  /** `number`: of the line. */
  take(changes: readonly Change[], number: number): void;
}

/** Reads a journal. Damage fails with StateFormatError, which names file and line. */
async function readJournal(disk: Disk, path: string, taker: JournalVisitor): Promise<JournalContent> {
  let lines = 0;
  let header: Header | undefined;
  let transactions = 0;
  let next: number | undefined;
  const read = readLog(disk, path, {
    first(json) {
      lines = 1;
      header = headerOf(json);
      return taker.begin(header);
    },
    line(json, place) {
      lines += 1;
      if (next !== undefined) throw new StateFormatError("it is after the last line of the journal");
      const value = tryParseJson(json);
      next = nextIn(value);
      if (next !== undefined) return;
      const changes = parseChanges(changesIn(value));
      if (changes === undefined) throw new StateFormatError("the line does not contain changes");
      taker.take(changes, place.number);
      transactions += 1;
    },
  });
  const { damage, ...end } = await read.catch((cause) => {
    if (!(cause instanceof StateFormatError)) throw cause;
    const { message, repairable } = cause;
    throw new StateFormatError(`${path}, line ${lines}: ${message}`, { cause, repairable });
  });
  if (damage) throw new StateFormatError(`${path}, line ${damage.line}: ${damage.reason}`);
  return { path, header, transactions, next, ...end };
}

function headerOf(json: string): Header {
  const header = tryParseJson(json) as Partial<Header> | null | undefined;
  if (header?.svc_journal === undefined) throw new StateFormatError("this is not the first line of a journal");
  requireFormat(header.svc_journal, header.written_by);
  if (!Number.isSafeInteger(header.generation) || !Number.isSafeInteger(header.after)) {
    throw new StateFormatError("the first line has no generation");
  }
  return header as Header;
}

/** The generation that the last line of a journal names. */
function nextIn(value: unknown): number | undefined {
  const next = (value as { next?: unknown } | null)?.next;
  return Number.isSafeInteger(next) ? (next as number) : undefined;
}

const changesIn = (value: unknown): unknown => (value as { changes?: unknown } | null)?.changes;

/** The position from which the journals continue; undefined if there is no checkpoint. */
type JournalStart = (Pick<CheckpointHead, "generation"> & { readonly position: LogPosition | undefined }) | undefined;

/** Applies journals to the state of a checkpoint, oldest first. */
export class Replay {
  /** Journals that were read to their end. */
  readonly journals: JournalContent[] = [];
  /** Applied so far, also of a journal that turned out to be damaged. */
  transactions = 0;
  /** The end of the chain so far; undefined if its beginning is unknown. */
  position: LogPosition | undefined;
  readonly #disk: Disk;
  readonly #state: State;
  readonly #upgrade: Upgrade;
  readonly #base: JournalStart;
  readonly #last: number;
  readonly #isOwn: boolean;
  #isTrusted = false;
  /** Generations whose lines, and all before them, are applied. */
  readonly #reached = new Set<number>();

  /** `last`: the number of the last line that is wanted. `isOwn`: rows of this very version are not looked at again. */
  constructor(
    disk: Disk,
    state: State,
    upgrade: Upgrade,
    base: JournalStart,
    { last = Number.POSITIVE_INFINITY, isOwn = false } = {},
  ) {
    this.#last = last;
    this.#isOwn = isOwn && !upgrade.needed;
    this.#disk = disk;
    this.#state = state;
    this.#upgrade = upgrade;
    this.#base = base;
    this.position = base?.position;
  }

  /**
   * Reads and applies one more journal. Fails with StateFormatError, which names file and line; changes before that
   * line stay.
   */
  async add(path: string): Promise<void> {
    const torn = this.journals.some((journal) => journal.torn);
    const content = await readJournal(this.#disk, path, {
      begin: (header) => {
        this.#isTrusted = this.#isOwn && header.written_by === svcVersion;
        this.#follow(header);
        return this.position;
      },
      take: (changes, number) => {
        if (number > this.#last) return;
        if (torn) throw new StateFormatError("the journal before this one ends in a damaged line");
        if (this.#base === undefined) {
          throw new StateFormatError("its state file is missing", { repairable: false });
        }
        applyChecked(this.#state, changes, this.#upgrade, this.#isTrusted);
        this.transactions += 1;
      },
    });
    this.position = content.position ?? this.position;
    this.journals.push(content);
  }

  #follow({ generation, after }: Header): void {
    if (this.#base !== undefined && generation !== this.#base.generation && !this.#reached.has(after)) {
      throw new StateFormatError(`the previous journal (generation ${after}) is missing`);
    }
    this.#reached.add(generation);
  }
}

/**
 * Applies what a line holds, all or none; rows come from outside, so they are validated first, unless they are trusted.
 * Fails with SchemaMismatchError.
 */
export function applyChecked(state: State, changes: readonly Change[], upgrade: Upgrade, isTrusted = false): void {
  for (const change of changes.map((each) => checked(state, each, upgrade, isTrusted))) state.apply(change);
}

function checked(state: State, change: Change, upgrade: Upgrade, isTrusted: boolean): Change {
  const [kind, collection] = change;
  if (kind === "put" && isTrusted && state.rows.has(collection)) return change;
  if (kind === "put") return ["put", collection, validateRow(state, upgrade, collection, change[2], "The row")];
  const known = kind === "next" || (kind === "delete" ? state.rows : state.mappings).has(collection);
  if (!known) throw new SchemaMismatchError(`this version of svc has no collection ${collection}`);
  return change;
}
