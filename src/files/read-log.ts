import type { Disk, DiskFile } from "./disk.ts";
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
 * Such an end is torn. Everything else is damage: a complete line that does not match its checksum; a complete line of
 * a later group after the gap, because that group was started when everything before it was durable; and a complete
 * line that does not follow the previous line by its number and checksum. Such lines were changed, removed or moved.
 *
 * A file does not show that its last group is lost completely, or that it was cut at the end of a line. What depends on
 * it is recorded in other files.
 */

/** Visitor of the contents of a log file, in order. Reading stops if a method throws. */
interface LogVisitor {
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
export async function readLog(disk: Disk, path: string, visitor: LogVisitor): Promise<LogEnd> {
  const reader = new LogReader(visitor);
  let offset = 0;
  for await (const bytes of readLines(disk, path)) {
    for (let at = 0; at < bytes.byteLength && reader.damage === undefined; ) {
      const lineEnd = bytes.indexOf(newline, at);
      const end = lineEnd === -1 ? bytes.byteLength : lineEnd + 1;
      reader.feed(bytes.subarray(at, lineEnd === -1 ? end : lineEnd), lineEnd !== -1, offset + end);
      at = end;
    }
    if (reader.damage) break;
    offset += bytes.byteLength;
  }
  const { length, firstBrokenLine, position, damage } = reader;
  return { length, torn: firstBrokenLine !== undefined, position, damage };
}

const checksumMismatch = "the checksum of the line does not match";

class LogReader {
  readonly #visitor: LogVisitor;
  #lines = 0;
  length = 0;
  position: LogPosition | undefined;
  firstBrokenLine: number | undefined;
  damage: LogEnd["damage"];

  constructor(visitor: LogVisitor) {
    this.#visitor = visitor;
  }

  /** Processes one line without its newline. `end` is the position after the line. */
  feed(bytes: Buffer, isWhole: boolean, end: number): void {
    this.#lines += 1;
    if (this.firstBrokenLine !== undefined) this.#inspectAfterBreak(bytes);
    else if (!isWhole || !this.#take(bytes)) {
      this.firstBrokenLine = this.#lines;
      // JSON text contains no zeros.
      if (isWhole && !bytes.includes(0)) this.#setDamage(checksumMismatch);
    } else if (!this.damage) this.length = end;
  }

  /** Returns false if the line is not valid by itself. */
  #take(bytes: Buffer): boolean {
    if (this.#lines === 1) {
      const json = verifyLine(bytes);
      if (json !== undefined) this.position = this.#visitor.visitFirst(json);
      return json !== undefined;
    }
    const line = parseLine(bytes);
    if (line === undefined) return false;
    const reason = explainGap(line, this.position);
    if (reason === undefined) {
      this.#visitor.visitLine(line.json, line);
      this.position = line;
    } else this.#setDamage(reason);
    return true;
  }

  /** Reports damage if a line after an incomplete line was written after that line was durable. */
  #inspectAfterBreak(bytes: Buffer): void {
    // The first line is durable before a second one is written.
    const isLater = this.firstBrokenLine === 1 || (parseLine(bytes)?.group ?? 0) > (this.position?.number ?? 0) + 1;
    if (isLater) this.#setDamage(checksumMismatch, this.firstBrokenLine);
  }

  #setDamage(reason: string, line = this.#lines): void {
    this.damage = { line, reason };
  }
}

/** Explains why a line cannot follow a position. Undefined if it can. */
function explainGap(line: ParsedLine, previous: LogPosition | undefined): string | undefined {
  if (previous === undefined) return undefined;
  const missing = line.number - previous.number - 1;
  if (missing > 0) return missing === 1 ? "a line before it is missing" : `${missing} lines before it are missing`;
  return missing < 0 || line.before !== previous.checksum ? "it does not follow the line before it" : undefined;
}

/** Describes a torn end that is removed before the next write. */
export const formatTornEnd = (path: string): string =>
  `${path} ends with an incomplete write, which was not acknowledged. It is removed`;

const blockBytes = 1 << 20;
const newline = 0x0a;

/**
 * Reads a file in blocks of about a megabyte that end at the end of a line, except a last block without a line end. A
 * missing file is an error.
 */
export async function* readLines(disk: Disk, path: string): AsyncGenerator<Buffer, void> {
  const file = await disk.open(path, "read");
  try {
    yield* splitAtLineEnds(readBlocks(file));
  } finally {
    await file.close();
  }
}

async function* readBlocks(file: DiskFile): AsyncGenerator<Buffer, void> {
  const size = await file.size();
  for (let position = 0; position < size; ) {
    const block = Buffer.allocUnsafe(Math.min(blockBytes, size - position));
    const length = await file.read(block, position);
    if (length === 0) return;
    position += length;
    yield block.subarray(0, length);
  }
}

/** Yields the same bytes in blocks that end at the end of a line, except a last block without a line end. */
export async function* splitAtLineEnds(
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncGenerator<Buffer, void> {
  let rest: Uint8Array[] = [];
  for await (const piece of pieces) {
    const end = piece.lastIndexOf(newline) + 1;
    if (end > 0) {
      yield Buffer.concat([...rest, piece.subarray(0, end)]);
      rest = [];
    }
    // The pieces of a line are joined once, because a line can be as long as the file.
    if (end < piece.byteLength) rest.push(piece.subarray(end));
  }
  if (rest.length > 0) yield Buffer.concat(rest);
}
