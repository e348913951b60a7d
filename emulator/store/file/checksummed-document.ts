import { crc32 } from "node:zlib";
import type { State } from "../live/state.ts";
import { SchemaMismatchError } from "../live/versions.ts";
import { type Collection, type DocumentHead, StateFormatError } from "../port.ts";
import { DocumentChecksum, lastMember, lastMemberLength } from "./base/document-checksum.ts";
import { documentEnd } from "./document.ts";
import { DocumentReader } from "./document-reader.ts";

/*
 * A sealed document is one as the store exports it, and its last member is a checksum of all bytes before that line: no
 * damage goes unseen, and where the checksum fits, a row that does not is no damage.
 */

/** Seals what `export` gives. */
export async function* addChecksum(pieces: AsyncIterable<string>): AsyncGenerator<Buffer, void> {
  let checksum = 0;
  let last: string | undefined;
  for await (const piece of pieces) {
    if (last !== undefined) {
      const bytes = Buffer.from(last);
      checksum = crc32(bytes, checksum);
      yield bytes;
    }
    last = piece;
  }
  if (last !== documentEnd) throw new Error("Only a complete document can be checksummed");
  const comma = Buffer.from(",\n");
  yield Buffer.concat([comma, Buffer.from(lastMember(crc32(comma, checksum)))]);
}

/**
 * Feeds a sealed document to a reader, block by block; each ends at the end of a line. When it fails with StateFormatError,
 * the reader holds what was good.
 */
export async function readChecksummedInto(reader: DocumentReader, blocks: AsyncIterable<Buffer>): Promise<void> {
  const checksum = new DocumentChecksum();
  let refused: StateFormatError | undefined;
  let left = 0;
  for await (const bytes of blocks) {
    checksum.add(bytes);
    if (refused) continue;
    const text = bytes.toString("utf8");
    try {
      left += text.length - reader.feed(text);
    } catch (cause) {
      if (!(cause instanceof StateFormatError)) throw cause;
      refused = cause;
    }
  }
  if (refused instanceof SchemaMismatchError && !checksum.fits)
    throw new StateFormatError(refused.message, { cause: refused });
  if (refused) throw refused;
  if (!reader.ended || left === 0) throw new StateFormatError("the file ends too early");
  if (left !== lastMemberLength || !checksum.fits) {
    throw new StateFormatError("the checksum does not match: a line above was changed");
  }
}

/** A sealed document, whole. Fails with StateFormatError, which says in which line. */
export async function readChecksummed(
  blocks: AsyncIterable<Uint8Array>,
  collections: readonly Collection[],
): Promise<{ readonly head: DocumentHead; readonly state: State }> {
  const reader = new DocumentReader(collections, { isSealed: true });
  try {
    await readChecksummedInto(reader, buffers(blocks));
  } catch (cause) {
    if (!(cause instanceof StateFormatError)) throw cause;
    const { message, repairable } = cause;
    throw new StateFormatError(`line ${reader.line}: ${message}`, { cause, repairable });
  }
  return { head: reader.head, state: reader.state };
}

async function* buffers(blocks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void> {
  for await (const block of blocks) yield Buffer.isBuffer(block) ? block : Buffer.from(block);
}
