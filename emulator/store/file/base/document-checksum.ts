import { crc32 } from "node:zlib";
import type { Disk } from "../../../../src/files/disk.ts";
import { toHex } from "../../../../src/files/log-line.ts";
import { documentEnd, formatVersion } from "../document.ts";

/**
 * The last member of a base is a checksum of all bytes before that line. One byte is taken for a 0 whatever it is:
 * the one that says whether the state was closed, which is changed in place. One byte is written whole or not at all.
 */
const opening = `{\n"svc_state": ${formatVersion},\n"closed": `;
const closedAt = Buffer.byteLength(opening);
const zero = "0".charCodeAt(0);
const closedMark = (isClosed: boolean): Buffer => Buffer.from(isClosed ? "1" : "0");

export const lastMember = (checksum: number): string => `"checksum": "crc32:${toHex(checksum)}"${documentEnd}`;
export const lastMemberLength = lastMember(0).length;

/** Takes the bytes of a base, block by block, and tells whether the checksum at their end is theirs. */
export class DocumentChecksum {
  #value = 0;
  #started = false;
  /** The last bytes so far: they may be those of the last member. */
  #end: Buffer = Buffer.alloc(0);

  add(block: Buffer): void {
    const bytes = Buffer.concat([this.#end, block]);
    if (!this.#started && bytes.toString("latin1", 0, closedAt) === opening) bytes[closedAt] = zero;
    this.#started = true;
    const covered = Math.max(0, bytes.byteLength - lastMemberLength);
    this.#value = crc32(bytes.subarray(0, covered), this.#value);
    this.#end = bytes.subarray(covered);
  }

  get fits(): boolean {
    return this.#end.toString("latin1") === lastMember(this.#value);
  }
}

/** The first bytes of a base, made to say that the state is closed. */
export function withClosedMark(first: Buffer): Buffer {
  const marked = Buffer.from(first);
  closedMark(true).copy(marked, closedAt);
  return marked;
}

/** Says in the base, durably, whether the state is closed: then it holds everything, and no journal follows it. */
export async function markClosed(disk: Disk, path: string, isClosed: boolean): Promise<void> {
  const file = await disk.open(path, "write");
  try {
    await file.write(closedMark(isClosed), closedAt);
    await file.datasync();
  } finally {
    await file.close();
  }
}
