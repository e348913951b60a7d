import { crc32 } from "node:zlib";

/** A place in a log: its last line's number, counted over all files that continue from each other, and its checksum. */
export interface LogPosition {
  readonly number: number;
  readonly checksum: number;
}

export const startPosition: LogPosition = { number: 0, checksum: 0 };

/** Fields of a line of a log in addition to its value. */
export interface LineHead {
  /** From 1; it continues from one file of a log to the next. */
  readonly number: number;
  /** The number of the first line that was written in one go with it: before that began, all earlier ones were durable. */
  readonly group: number;
  /** The checksum of the line before it. */
  readonly before: number;
}

export interface ParsedLine extends LineHead {
  readonly checksum: number;
  readonly json: string;
}

const checksumLength = 8;
const bodyAt = checksumLength + 1;
const newline = 0x0a;

/**
 * One line: CRC-32 of the rest as eight hex digits, the checksum of the line before, the number of the line, that of
 * its group's first, the JSON text, a newline; with a space between. Bytes at once: as a string it would be encoded
 * twice, and copied by the garbage collector while it waits for the disk.
 */
export const logLine = (json: string, { number, group, before }: LineHead): WrittenLine =>
  checkedLine(`${toHex(before)} ${number} ${group} ${json}`);

/** A line without a number: the first of a file, which says what the file is. */
export const firstLine = (json: string): Buffer => checkedLine(json).bytes;

export interface WrittenLine {
  readonly bytes: Buffer;
  readonly checksum: number;
}

function checkedLine(text: string): WrittenLine {
  const bytes = Buffer.allocUnsafe(bodyAt + Buffer.byteLength(text) + 1);
  const end = bytes.length - 1;
  bytes.write(text, bodyAt);
  const checksum = crc32(bytes.subarray(bodyAt, end));
  bytes.write(`${toHex(checksum)} `, "latin1");
  bytes[end] = newline;
  return { bytes, checksum };
}

const hexOfByte = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

// By bytes: the engine treats a number as long as this one as a fraction, and needs ten times as long for its digits.
export const toHex = (checksum: number): string =>
  hexOfByte[checksum >>> 24]! +
  hexOfByte[(checksum >>> 16) & 0xff]! +
  hexOfByte[(checksum >>> 8) & 0xff]! +
  hexOfByte[checksum & 0xff]!;

/** The text of a line without its newline and its checksum; undefined when the checksum is wrong. */
export function verifyLine(line: Buffer): string | undefined {
  const body = line.subarray(bodyAt);
  return line.toString("latin1", 0, bodyAt) === `${toHex(crc32(body))} ` ? body.toString("utf8") : undefined;
}

/** A line without its newline, taken apart; undefined when its checksum is wrong or it is not of this form. */
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
