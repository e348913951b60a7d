import { crc32 } from "node:zlib";

const checksumLength = 8;

/** One line of the journal: CRC-32 of the JSON text as eight hex digits, a space, the JSON text, a newline. */
export const journalLine = (json: string): string => `${checksumOf(json)} ${json}\n`;

export const checksumOf = (data: string | Uint8Array, before = 0): string => hexOf(crc32(data, before));

export const hexOf = (checksum: number): string => checksum.toString(16).padStart(checksumLength, "0");

/** The value of a line without its newline; undefined when its checksum is wrong. */
export function parseJournalLine(line: Buffer): unknown {
  const json = line.subarray(checksumLength + 1);
  if (line.toString("latin1", 0, checksumLength + 1) !== `${checksumOf(json)} `) return undefined;
  return JSON.parse(json.toString("utf8"));
}
