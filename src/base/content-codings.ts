import { isUtf8 } from "node:buffer";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { lookupTable } from "./object.ts";

/** With a flush at the end, a truncated body is decoded as far as it goes. Read late: most runs decode nothing. */
const getZlibOptions = (isTruncated = false) => (isTruncated ? { finishFlush: constants.Z_SYNC_FLUSH } : {});
const getBrotliOptions = (isTruncated = false) =>
  isTruncated ? { finishFlush: constants.BROTLI_OPERATION_FLUSH } : {};

/** Decoders of whole or truncated bodies, by content coding (RFC 9110, 8.4.1). */
export const contentDecoders = lookupTable<(isTruncated?: boolean) => NodeJS.ReadWriteStream>({
  gzip: (isTruncated) => createGunzip(getZlibOptions(isTruncated)),
  "x-gzip": (isTruncated) => createGunzip(getZlibOptions(isTruncated)),
  deflate: (isTruncated) => createInflate(getZlibOptions(isTruncated)),
  br: (isTruncated) => createBrotliDecompress(getBrotliOptions(isTruncated)),
});

/** Parses a `Content-Encoding` field to its codings, in the order in which they were applied. */
export const parseContentCodings = (field: string): readonly string[] =>
  field
    .toLowerCase()
    .split(",")
    .map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity");

/**
 * Decodes the beginning of a body up to a size, because a small body can decode to an endless one. Resolves with a note
 * if the coding is unknown, if there are several, which multiply the work, or if nothing can be decoded. Text is
 * returned as it is, because servers that pass a response on can keep its header.
 */
export async function decodeBeginning(bytes: Buffer, encoding: string | undefined, maxBytes: number): Promise<Buffer> {
  const codings = parseContentCodings(encoding ?? "");
  if (codings.length === 0 || bytes.length === 0) return bytes;
  const chunks: Buffer[] = [];
  let size = 0;
  const decoder = codings.length === 1 ? contentDecoders[codings[0]!]?.(true) : undefined;
  if (decoder) {
    pipeline(Readable.from([bytes], { objectMode: false }), decoder).catch(() => {});
    try {
      for await (const chunk of decoder as AsyncIterable<Buffer>) {
        chunks.push(chunk);
        size += chunk.byteLength;
        if (size >= maxBytes) break;
      }
    } catch {
      // The rest is damaged.
    }
  }
  if (size > 0) return Buffer.concat(chunks).subarray(0, maxBytes);
  return isUtf8(bytes) ? bytes : Buffer.from(`(compressed: ${codings.join(", ").slice(0, 100)})`);
}
