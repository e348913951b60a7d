import { dirname } from "node:path";
import { pluralize } from "../base/text.ts";
import { type Disk, findFreeName } from "./disk.ts";
import { type LogPosition, type ParsedLine, parseLine, verifyLine } from "./log-line.ts";

/*
 * Distinguishes the end of a write that a crash interrupted from damage.
 *
 * Lines are appended in groups (`AppendLog`): one write and one fdatasync. Only then are the callers of the group
 * notified and the next group is written. A crash of the process leaves complete groups, or a last one that is cut at
 * some byte. A crash of the machine may leave any part of the last group: sectors that were not written read as zeros,
 * even before sectors that were. The end of a log after its valid lines was therefore never acknowledged if
 *
 *  - its first line has no newline or contains zeros, and
 *  - each complete line after it belongs to the same group as the first missing line.
 *
 * Such an end is torn. Everything else is damage: a complete line that does not match its checksum; a complete line of a
 * later group after the gap, because that group was started when everything before it was durable; and a complete line
 * that does not follow the previous line by its number and checksum. Such lines were changed, removed or moved.
 *
 * A file does not show that its last group is lost completely, or that it was cut at the end of a line. What depends on
 * it is recorded in other files.
 */

/** Visitor of the contents of a log file, in order. An error of a method ends the reading. */
export interface LogVisitor {
  /**
   * Visits the JSON text of the first line. Returns the position that the second line must follow. Undefined allows any
   * position.
   */
  visitFirst(json: string): LogPosition | undefined;
  visitLine(json: string, position: LogPosition): void;
}

export interface LogEnd {
  /** End of the valid lines, in bytes. 0 if the first line is incomplete. */
  readonly length: number;
  /** Whether bytes of an unacknowledged group follow the valid lines. */
  readonly torn: boolean;
  /** Number of the last line. Undefined if the position of the first line is unknown. */
  readonly position: LogPosition | undefined;
  /** Set if the rest after the valid lines is not a torn write, with the reason and the line number from 1. */
  readonly damage: { readonly line: number; readonly reason: string } | undefined;
}

/** Reads a log file up to its end or to the first torn or damaged line. A missing file is an error. */
export async function readLog(disk: Disk, path: string, taker: LogVisitor): Promise<LogEnd> {
  const reader = new LogReader(taker);
  let offset = 0;
  for await (const bytes of readLines(disk, path)) {
    for (let at = 0; at < bytes.byteLength && reader.damage === undefined; ) {
      const newline = bytes.indexOf("\n", at);
      const end = newline === -1 ? bytes.byteLength : newline + 1;
      reader.feed(bytes.subarray(at, newline === -1 ? end : newline), newline !== -1, offset + end);
      at = end;
    }
    if (reader.damage) break;
    offset += bytes.byteLength;
  }
  return reader.end;
}

const checksumMismatch = "the checksum of the line does not match";

class LogReader {
  readonly #taker: LogVisitor;
  #lines = 0;
  #length = 0;
  #position: LogPosition | undefined;
  #firstBrokenLine: number | undefined;
  damage: LogEnd["damage"];

  constructor(taker: LogVisitor) {
    this.#taker = taker;
  }

  get end(): LogEnd {
    const { damage } = this;
    return { length: this.#length, torn: this.#firstBrokenLine !== undefined, position: this.#position, damage };
  }

  /** Processes one line without its newline. `end` is the position after the line. */
  feed(bytes: Buffer, isWhole: boolean, end: number): void {
    this.#lines += 1;
    if (this.#firstBrokenLine !== undefined) this.#inspectAfterBreak(bytes);
    else if (!isWhole || !this.#take(bytes)) this.#break(bytes, isWhole);
    else if (!this.damage) this.#length = end;
  }

  #break(bytes: Buffer, isWhole: boolean): void {
    this.#firstBrokenLine = this.#lines;
    // JSON text contains no zeros.
    if (isWhole && !bytes.includes(0)) this.damage = { line: this.#lines, reason: checksumMismatch };
  }

  #take(bytes: Buffer): boolean {
    if (this.#lines === 1) {
      const json = verifyLine(bytes);
      if (json === undefined) return false;
      this.#position = this.#taker.visitFirst(json);
      return true;
    }
    const line = parseLine(bytes);
    if (line === undefined) return false;
    const reason = this.#explainGap(line);
    if (reason !== undefined) {
      this.damage = { line: this.#lines, reason };
      return true;
    }
    this.#taker.visitLine(line.json, line);
    this.#position = line;
    return true;
  }

  #explainGap(line: ParsedLine): string | undefined {
    if (this.#position === undefined) return undefined;
    const { number, checksum } = this.#position;
    const missing = line.number - number - 1;
    if (missing > 0) return missing === 1 ? "a line before it is missing" : `${missing} lines before it are missing`;
    if (missing < 0 || line.before !== checksum) return "it does not follow the line before it";
    return undefined;
  }

  /** Reports damage if a line after an incomplete line was written after that line was durable. */
  #inspectAfterBreak(bytes: Buffer): void {
    // The first line is durable before a second one is written.
    const isLater = this.#firstBrokenLine === 1 || (parseLine(bytes)?.group ?? 0) > (this.#position?.number ?? 0) + 1;
    if (isLater) this.damage = { line: this.#firstBrokenLine!, reason: checksumMismatch };
  }
}

/**
 * Durably copies a torn write after the valid lines of a log, which end at `length`, into a separate file next to it.
 * Its callers never got a success, but users with missing data can check the file. Returns a sentence about the file.
 */
export async function saveTornTail(disk: Disk, path: string, length: number): Promise<string> {
  const savedPath = await findFreeName(disk, path, "torn");
  const from = await disk.open(path, "read");
  try {
    const to = await disk.create(savedPath);
    const size = await from.size();
    try {
      for (let at = length; at < size; ) {
        const block = new Uint8Array(Math.min(blockBytes, size - at));
        const read = await from.read(block, at);
        if (read === 0) break;
        await to.write(block.subarray(0, read), at - length);
        at += read;
      }
      await to.sync();
    } finally {
      await to.close();
    }
    await disk.syncFolder(dirname(savedPath));
    return `${path} ends with an incomplete write (${pluralize(size - length, "byte")}). It is ignored, and saved in ${savedPath}`;
  } finally {
    await from.close();
  }
}

/** Reports whether `saveTornTail` created this name for a file of that name. */
export const isSavedTail = (name: string, of: string): boolean =>
  name.startsWith(`${of}.torn`) && /^(-\d+)?$/.test(name.slice(`${of}.torn`.length));

const blockBytes = 1 << 20;
const newline = 0x0a;

/**
 * Reads a file in blocks of about a megabyte that end at the end of a line, except a last block without a line end. A
 * missing file is an error.
 */
export async function* readLines(disk: Disk, path: string): AsyncGenerator<Buffer, void> {
  const file = await disk.open(path, "read");
  try {
    const size = await file.size();
    let rest = Buffer.alloc(0);
    let position = 0;
    while (position < size) {
      // The next block is filled while the yielded one is processed, so each has its own buffer.
      const block = Buffer.allocUnsafe(Math.min(blockBytes, size - position));
      const read = await file.read(block, position);
      if (read === 0) break;
      position += read;
      const bytes = Buffer.concat([rest, block.subarray(0, read)]);
      const end = position < size ? bytes.lastIndexOf(newline) + 1 : bytes.byteLength;
      rest = bytes.subarray(end);
      if (end > 0) yield bytes.subarray(0, end);
    }
  } finally {
    await file.close();
  }
}
