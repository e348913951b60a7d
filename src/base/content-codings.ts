import { isUtf8 } from "node:buffer";
import {
  brotliDecompressSync,
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  unzipSync,
} from "node:zlib";
import { lookupTable } from "./object.ts";

/** Decoders by content coding (RFC 9110, 8.4.1). Read late: most runs decode nothing. */
export const contentDecoders = lookupTable<() => NodeJS.ReadWriteStream>({
  gzip: () => createGunzip(),
  "x-gzip": () => createGunzip(),
  deflate: () => createInflate(),
  br: () => createBrotliDecompress(),
});

/** Parses a `Content-Encoding` field to its codings, in the order in which they were applied. */
export const parseContentCodings = (field: string): readonly string[] =>
  field
    .toLowerCase()
    .split(",")
    .map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity");

/**
 * Decodes a body, or the beginning of one, that has one coding. Returns undefined if the coding is unknown, the body is
 * damaged, or the decoded body is larger than the maximum.
 */
export function decodeContent(bytes: Buffer, codings: readonly string[], maxOutputLength: number): Buffer | undefined {
  const [coding = ""] = codings;
  if (contentDecoders[coding] === undefined || codings.length > 1) return undefined;
  try {
    // With a flush at the end, a truncated body is decoded as far as it goes.
    return coding === "br"
      ? brotliDecompressSync(bytes, { maxOutputLength, finishFlush: constants.BROTLI_OPERATION_FLUSH })
      : unzipSync(bytes, { maxOutputLength, finishFlush: constants.Z_SYNC_FLUSH });
  } catch {
    return undefined;
  }
}

/** A compressed response of up to this size is shown. A small body can decode to an endless one. */
const maxDecodedBytes = 1024 * 1024;

/**
 * Decodes a response body to show it. Returns a note if it cannot be decoded. Text is returned as it is, because
 * servers that pass a response on can keep its header.
 */
export function decodeForDisplay(bytes: Buffer, encoding: string | undefined): Buffer {
  if (encoding === undefined) return bytes;
  const codings = parseContentCodings(encoding);
  if (codings.length === 0) return bytes;
  const decoded = decodeContent(bytes, codings, maxDecodedBytes);
  if (decoded !== undefined && decoded.length > 0) return decoded;
  return isUtf8(bytes) ? bytes : Buffer.from(`(compressed: ${codings.join(", ").slice(0, 100)})`);
}
