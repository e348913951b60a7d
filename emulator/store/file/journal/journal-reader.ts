import { changesOf } from "../../live/journal-changes.ts";
import type { Change } from "../../live/state.ts";
import { StateRefused } from "../../port.ts";
import type { Disk } from "../disk.ts";
import { format, requireFormat } from "../format.ts";
import { readLines } from "../lines.ts";
import type { Header } from "./journal-file.ts";
import { checkedText, type Line, type Position, parseLine } from "./journal-line.ts";

/*
 * How the end of a write that a crash cut short is told from damage.
 *
 * Lines are appended in groups: one write, one fdatasync, and only after it are the callers of the group told, and is
 * the next group written. A crash of the process leaves whole groups, or a last one cut at some byte. A crash of the
 * machine may leave of the last group any part: sectors that never arrived read as zeros, also before ones that did.
 * So of what a journal ends with after its good lines, nothing was ever acknowledged when
 *
 *  - no whole line stands in it, or
 *  - each whole line in it belongs to the very group that the first missing line belongs to.
 *
 * Then it is torn: it is left out, told, and kept in a file of its own. It is damage when a whole line of a later group
 * stands after the hole, for that group was begun when all before it was durable; and when a whole line does not follow
 * the line before it, by its number and by that one's checksum: lines were taken out, moved, or changed.
 *
 * What a last group lost as a whole cannot be seen in its own file, nor can a last journal that was cut at the end of a
 * line. The rest is seen from beside it: the next journal goes on with the next number; a journal that goes on in
 * another one says so in its last line; the snapshot says whether a journal follows it.
 */

/** What a journal holds. */
export interface JournalContent {
  readonly path: string;
  /** Undefined when not even the first line was written whole. */
  readonly header: Header | undefined;
  /** Transactions in it. */
  readonly transactions: number;
  /** Where its good lines end, in bytes. */
  readonly length: number;
  /** Whether something stands after them: a group that was never acknowledged. */
  readonly torn: boolean;
  /** Where its last line stands in the chain; undefined in format 1. */
  readonly position: Position | undefined;
  /** The generation in which it says that it goes on. */
  readonly next: number | undefined;
}

/** Who takes what a journal holds, in order. Both may refuse with StateRefused. */
export interface JournalTaker {
  /** Returns the position that the first line has to follow; undefined when any will do. */
  begin(header: Header): Position | undefined;
  take(changes: readonly Change[]): void;
}

/** Reads a journal. Damage fails with StateRefused, which names file and line. */
export async function readJournal(disk: Disk, path: string, taker: JournalTaker): Promise<JournalContent> {
  const reader = new JournalReader(taker);
  let line = 0;
  try {
    for await (const { bytes, offset } of readLines(disk, path)) {
      for (let at = 0; at < bytes.byteLength; ) {
        const newline = bytes.indexOf("\n", at);
        const end = newline === -1 ? bytes.byteLength : newline + 1;
        line += 1;
        reader.feed(bytes.subarray(at, newline === -1 ? end : newline), newline !== -1, offset + end);
        at = end;
      }
    }
  } catch (cause) {
    if (!(cause instanceof StateRefused)) throw cause;
    const { message, repairable } = cause;
    throw new StateRefused(`${path}, line ${reader.brokenLine ?? line}: ${message}`, { cause, repairable });
  }
  return { path, ...reader.content };
}

const checksumWrong = "the checksum of the line does not fit";

class JournalReader {
  readonly #taker: JournalTaker;
  #lines = 0;
  #header: Header | undefined;
  #position: Position | undefined;
  #transactions = 0;
  #length = 0;
  #next: number | undefined;
  /** The first line that is not whole, from 1. */
  brokenLine: number | undefined;

  constructor(taker: JournalTaker) {
    this.#taker = taker;
  }

  get content(): Omit<JournalContent, "path"> {
    return {
      header: this.#header,
      transactions: this.#transactions,
      length: this.#length,
      torn: this.brokenLine !== undefined,
      position: this.#position,
      next: this.#next,
    };
  }

  /** Takes one line without its newline, which ends at that byte of the file. */
  feed(bytes: Buffer, isWhole: boolean, end: number): void {
    this.#lines += 1;
    if (this.brokenLine !== undefined) {
      this.#afterBroken(bytes);
      return;
    }
    if (isWhole && this.#takeLine(bytes)) this.#length = end;
    else this.brokenLine = this.#lines;
  }

  /** False when its checksum is wrong. */
  #takeLine(bytes: Buffer): boolean {
    if (this.#lines === 1) return this.#first(bytes);
    return this.#header?.svc_journal === 1 ? this.#alone(bytes) : this.#chained(bytes);
  }

  /** What comes after a line that is not whole: damage if it was written after that one was durable. */
  #afterBroken(bytes: Buffer): void {
    // The first line is durable before a second is written; and in format 1 nothing says what was written together.
    if (this.#header?.svc_journal !== format) throw new StateRefused(checksumWrong);
    const line = parseLine(bytes);
    const missing = (this.#position?.transaction ?? 0) + 1;
    if (line && line.group > missing) throw new StateRefused(checksumWrong);
  }

  #first(bytes: Buffer): boolean {
    const text = checkedText(bytes);
    if (text === undefined) return false;
    const header = parsed(text) as Partial<Header> | null;
    if (header?.svc_journal === undefined) throw new StateRefused("this is not the first line of a journal");
    requireFormat(header.svc_journal, header.written_by);
    if (!Number.isSafeInteger(header.generation) || !Number.isSafeInteger(header.after)) {
      throw new StateRefused("the first line does not say which generation it is");
    }
    this.#header = header as Header;
    this.#position = this.#taker.begin(this.#header);
    return true;
  }

  /** A line of format 1. */
  #alone(bytes: Buffer): boolean {
    const text = checkedText(bytes);
    if (text === undefined) return false;
    this.#take(parsed(text));
    return true;
  }

  #chained(bytes: Buffer): boolean {
    const line = parseLine(bytes);
    if (line === undefined) return false;
    this.#follow(line);
    const value = parsed(line.json);
    if (this.#next !== undefined) throw new StateRefused("it stands after the last line of the journal");
    const next = nextIn(value);
    if (next === undefined) this.#take(value);
    else this.#next = next;
    this.#position = line;
    return true;
  }

  #take(value: unknown): void {
    const changes = changesOf(value);
    if (changes === undefined) throw new StateRefused("the line holds something else than changes");
    this.#taker.take(changes);
    this.#transactions += 1;
  }

  #follow(line: Line): void {
    if (this.#position === undefined) return;
    const { transaction, checksum } = this.#position;
    if (line.transaction > transaction + 1) {
      const missing = line.transaction - transaction - 1;
      throw new StateRefused(missing === 1 ? "a line before it is missing" : `${missing} lines before it are missing`);
    }
    if (line.transaction <= transaction || line.before !== checksum) {
      throw new StateRefused("it does not follow the line before it");
    }
  }
}

/** The generation that the last line of a journal names. */
function nextIn(value: unknown): number | undefined {
  const next = (value as { next?: unknown } | null)?.next;
  return Number.isSafeInteger(next) ? (next as number) : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
