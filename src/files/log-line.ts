import { crc32 } from "node:zlib";

/** Position in a log: the number of the last line, counted over all files of the log, and the checksum of that line. */
export interface LogPosition {
  readonly number: number;
  readonly checksum: number;
}

export const startPosition: LogPosition = { number: 0, checksum: 0 };

interface LineHead {
  /** Line number from 1, which continues from one file of a log to the next. */
  readonly number: number;
  /** Number of the first line of its group. All earlier lines were durable before the group was written. */
  readonly group: number;
  readonly before: number;
}

export interface ParsedLine extends LineHead {
  readonly checksum: number;
  readonly json: string;
}

const checksumLength = 8;
const bodyOffset = checksumLength + 1;
const newline = 0x0a;

/**
 * Formats one line with these parts, separated by spaces: CRC-32 of the rest as eight hex digits, the checksum of the
 * previous line, the number of the line, the number of the first line of its group, and the JSON text. A newline
 * follows. The result is bytes, because a string would be encoded twice and copied by the garbage collector.
 */
export const formatLogLine = (json: string, { number, group, before }: LineHead): WrittenLine =>
  formatLine(`${toHex(before)} ${number} ${group} ${json}`);

/** Formats the first line of a file, which has no number and describes the file. */
export const formatFirstLine = (json: string): Buffer => formatLine(json).bytes;

interface WrittenLine {
  readonly bytes: Buffer;
  readonly checksum: number;
}

function formatLine(text: string): WrittenLine {
  const bytes = Buffer.allocUnsafe(bodyOffset + Buffer.byteLength(text) + 1);
  const end = bytes.length - 1;
  bytes.write(text, bodyOffset);
  const checksum = crc32(bytes.subarray(bodyOffset, end));
  bytes.write(`${toHex(checksum)} `, "latin1");
  bytes[end] = newline;
  return { bytes, checksum };
}

export const toHex = (checksum: number): string => checksum.toString(16).padStart(checksumLength, "0");

/** Returns the text of a line without its newline and its checksum, or undefined if the checksum is wrong. */
export function verifyLine(line: Buffer): string | undefined {
  const body = line.subarray(bodyOffset);
  return line.toString("latin1", 0, bodyOffset) === `${toHex(crc32(body))} ` ? body.toString("utf8") : undefined;
}

/** Parses a line without its newline. Returns undefined if its checksum is wrong or its form is invalid. */
export function parseLine(line: Buffer): ParsedLine | undefined {
  const text = verifyLine(line);
  const [head, before = "", number, group] = /^([0-9a-f]{8}) (\d{1,15}) (\d{1,15}) /.exec(text ?? "") ?? [];
  if (text === undefined || head === undefined) return undefined;
  return {
    number: Number(number),
    group: Number(group),
    before: Number.parseInt(before, 16),
    checksum: Number.parseInt(line.toString("latin1", 0, checksumLength), 16),
    json: text.slice(head.length),
  };
}
