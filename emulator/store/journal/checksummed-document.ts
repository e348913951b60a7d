import { constants } from "node:buffer";
import { crc32 } from "node:zlib";
import { type Disk, withFile } from "../../../src/files/disk.ts";
import { toHex } from "../../../src/files/log-line.ts";
import type { State } from "../live/state.ts";
import { SchemaMismatchError } from "../live/versions.ts";
import { type Collection, type DocumentHead, StateFormatError } from "../port.ts";
import { documentEnd, formatVersion } from "./document.ts";
import { DocumentReader } from "./document-reader.ts";

/*
 * A checksummed document is an exported document whose last member is a checksum of all bytes before that line. The
 * checksum detects any damage. If it matches, an invalid row is not damage.
 */

export async function* addChecksum(pieces: AsyncIterable<string>): AsyncGenerator<Buffer, void> {
  let checksum = 0;
  for await (const piece of pieces) {
    const isEnd = piece === documentEnd;
    const bytes = Buffer.from(isEnd ? ",\n" : piece);
    checksum = crc32(bytes, checksum);
    yield isEnd ? Buffer.concat([bytes, Buffer.from(formatLastMember(checksum))]) : bytes;
  }
}

/**
 * Feeds a checksummed document to a reader in blocks that end at the end of a line. Resolves with the number of bytes.
 * If it fails with StateFormatError, the reader contains the rows before the damage. An invalid row is damage unless
 * the checksum matches.
 */
export async function readChecksummedInto(reader: DocumentReader, blocks: AsyncIterable<Buffer>): Promise<number> {
  const checksum = new DocumentChecksum();
  let failure: StateFormatError | undefined;
  let remaining = 0;
  let size = 0;
  for await (const bytes of blocks) {
    size += bytes.byteLength;
    checksum.add(bytes);
    if (failure) continue;
    try {
      if (bytes.byteLength > constants.MAX_STRING_LENGTH) throw new StateFormatError("a line is longer than 512 MiB");
      const text = bytes.toString("utf8");
      remaining += text.length - reader.feed(text);
    } catch (cause) {
      if (!(cause instanceof StateFormatError)) throw cause;
      failure = cause;
    }
  }
  if (failure instanceof SchemaMismatchError && !checksum.isMatch)
    throw new StateFormatError(failure.message, { cause: failure });
  if (failure) throw failure;
  if (!reader.hasEnded || remaining === 0) throw new StateFormatError("the file ends too early");
  if (remaining !== lastMemberLength || !checksum.isMatch) {
    throw new StateFormatError("the checksum does not match: a line above was changed");
  }
  return size;
}

/** Reads a complete checksummed document. Fails with StateFormatError, which names the line. */
export async function readChecksummed(
  blocks: AsyncIterable<Buffer>,
  collections: readonly Collection[],
): Promise<{ readonly head: DocumentHead; readonly state: State }> {
  const reader = new DocumentReader(collections, { isSealed: true });
  await readChecksummedInto(reader, blocks).catch((error) => {
    throw reader.locateError(error);
  });
  return { head: reader.head, state: reader.state };
}

/**
 * The last member of a checkpoint is a checksum of all bytes before that line. The byte that records whether the state
 * was closed counts as 0, because it is changed in place. A write of one byte is atomic.
 */
const openingBytes = `{\n"svc_state": ${formatVersion},\n"closed": `;
const closedOffset = Buffer.byteLength(openingBytes);
const zero = "0".charCodeAt(0);
const toClosedMark = (isClosed: boolean): Buffer => Buffer.from(isClosed ? "1" : "0");

const formatLastMember = (checksum: number): string => `"checksum": "crc32:${toHex(checksum)}"${documentEnd}`;
const lastMemberLength = formatLastMember(0).length;

/** Reads the bytes of a checkpoint in blocks and verifies the checksum at the end. */
class DocumentChecksum {
  #value = 0;
  /** The last bytes so far, which may belong to the last member. */
  #tail: Buffer = Buffer.alloc(0);

  add(block: Buffer): void {
    const bytes = Buffer.concat([this.#tail, block]);
    if (bytes.toString("latin1", 0, closedOffset) === openingBytes) bytes[closedOffset] = zero;
    const coveredLength = Math.max(0, bytes.byteLength - lastMemberLength);
    this.#value = crc32(bytes.subarray(0, coveredLength), this.#value);
    this.#tail = bytes.subarray(coveredLength);
  }

  get isMatch(): boolean {
    return this.#tail.toString("latin1") === formatLastMember(this.#value);
  }
}

export function withClosedMark(firstBytes: Buffer): Buffer {
  const markedBytes = Buffer.from(firstBytes);
  toClosedMark(true).copy(markedBytes, closedOffset);
  return markedBytes;
}

/**
 * Durably marks in the checkpoint whether the state is closed. A closed checkpoint is complete and no journal follows
 * it.
 */
export const markClosed = (disk: Disk, path: string, isClosed: boolean): Promise<void> =>
  withFile(disk, path, "write", async (file) => {
    await file.write(toClosedMark(isClosed), closedOffset);
    await file.datasync();
  });
