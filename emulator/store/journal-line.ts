import { crc32 } from "node:zlib";

const checksumLength = 8;
const headLength = checksumLength + 1;

/**
 * One line of the journal: CRC-32 of the JSON text as eight hex digits, a space, the JSON text, a newline. Bytes at
 * once: as a text it would be encoded twice, and copied by the garbage collector while it waits for the disk.
 */
export function journalLine(json: string): Buffer {
  const line = Buffer.allocUnsafe(headLength + Buffer.byteLength(json) + 1);
  const newline = line.length - 1;
  line.write(json, headLength);
  line.write(`${checksumOf(line.subarray(headLength, newline))} `, "latin1");
  line[newline] = 0x0a;
  return line;
}

const checksumOf = (data: Uint8Array): string => hexOf(crc32(data));

export const hexOf = (checksum: number): string => checksum.toString(16).padStart(checksumLength, "0");

/** The value of a line without its newline; undefined when its checksum is wrong. */
export function parseJournalLine(line: Buffer): unknown {
  const json = line.subarray(headLength);
  if (line.toString("latin1", 0, headLength) !== `${checksumOf(json)} `) return undefined;
  return JSON.parse(json.toString("utf8"));
}
