import { createHash } from "node:crypto";
import type { Fail } from "../../../src/api/failures.ts";
import { checksumAlgorithms } from "../../../src/api/storage/objects.ts";
import { decodeBase64 } from "../../../src/base/hmac.ts";
import type { ReceivedRequest } from "../../http/handler.ts";

type Headers = ReceivedRequest["headers"];

interface ChecksumClaim {
  readonly name: string;
  readonly checksum: Checksum;
  value: string | undefined;
  readonly encoding: "base64" | "hex";
  readonly mismatch: { readonly code: string; readonly message: string };
}

const prefix = "x-amz-checksum-";
const isChecksum = (name: string): boolean => name.startsWith(prefix) && name !== `${prefix}type`;

/** Reading fails at the end if the decoded bytes do not match the checksums of the headers (DECISIONS.md, C5). */
export function verifyUpload(
  headers: Headers,
  body: AsyncIterable<Uint8Array>,
  ids: { readonly requestId: string; readonly hostId: string },
  fail: Fail<"storage-bad-digest" | "storage-invalid-digest" | "storage-incomplete-body">,
): AsyncIterable<Uint8Array> {
  const rejectInvalid = (message: string, code = "InvalidRequest") =>
    fail("storage-invalid-digest", { code, message, ...ids });
  const rejectIncomplete = (message: string) => fail("storage-incomplete-body", { message, ...ids });
  const claims = [
    ...readMd5Claim(headers, rejectInvalid),
    ...readChecksumClaim(headers, rejectInvalid),
    ...readSha256Claim(headers),
  ];
  const isBodyChunked = isChunked(headers);

  return readPieces();

  async function* readPieces(): AsyncGenerator<Uint8Array, void> {
    let length = 0;
    try {
      for await (const piece of isBodyChunked ? decodeChunked(body, readTrailer) : body) {
        length += piece.byteLength;
        for (const { checksum } of claims) checksum.update(piece);
        yield piece;
      }
    } catch (error) {
      if (error instanceof ChunkedBodyError) rejectIncomplete(`The aws-chunked body cannot be read: ${error.message}.`);
      throw error;
    }
    const announcedLength = headers["x-amz-decoded-content-length"];
    if (isBodyChunked && announcedLength !== undefined && Number(announcedLength) !== length) {
      rejectIncomplete(`x-amz-decoded-content-length is ${announcedLength}, but the body has ${length} bytes.`);
    }
    for (const { name, checksum, value, encoding, mismatch } of claims) {
      if (value === undefined) rejectIncomplete(`The body ends without its trailer ${name}.`);
      if (checksum.digest().toString(encoding) !== value) fail("storage-bad-digest", { ...mismatch, ...ids });
    }
  }

  function readTrailer(name: string, value: string): void {
    const claim = claims.find((each) => each.name === name);
    if (claim) claim.value = value;
  }
}

/** Signed requests announce chunks in a header. Unsigned requests only have the encoding. */
const isChunked = (headers: Headers): boolean =>
  headers["x-amz-content-sha256"]?.startsWith("STREAMING-") === true ||
  parseList(headers["content-encoding"]).includes("aws-chunked");

const parseList = (value = ""): string[] => value.split(",").map((each) => each.trim().toLowerCase());

type InvalidRejecter = (message: string, code?: string) => never;

function readMd5Claim(headers: Headers, rejectInvalid: InvalidRejecter): ChecksumClaim[] {
  const value = headers["content-md5"];
  if (value === undefined) return [];
  if (decodeBase64(value)?.length !== 16) rejectInvalid("The Content-MD5 you specified is not valid.", "InvalidDigest");
  const mismatch = { code: "BadDigest", message: "The Content-MD5 you specified did not match what we received." };
  return [{ name: "content-md5", checksum: createHash("md5"), value, encoding: "base64", mismatch }];
}

/** Returns at most one claim, from a header or from an announced trailer of a chunked body. */
function readChecksumClaim(headers: Headers, rejectInvalid: InvalidRejecter): ChecksumClaim[] {
  const names = new Set([...Object.keys(headers), ...parseList(headers["x-amz-trailer"])].filter(isChecksum));
  const [name] = names;
  if (name === undefined) return [];
  if (names.size > 1) rejectInvalid(`Expecting a single ${prefix} header. Multiple checksum Types are not allowed.`);
  const algorithm = name.slice(prefix.length);
  const checksumName = checksumAlgorithms.find((each) => each === algorithm);
  if (!checksumName) return rejectInvalid(`The algorithm type you specified in ${prefix} header is invalid.`);
  const value = headers[name];
  if (value !== undefined && decodeBase64(value)?.length !== checksums[checksumName]().digest().length) {
    rejectInvalid(`Value for ${name} header is invalid.`);
  }
  const message = `The ${algorithm.toUpperCase()} you specified did not match the calculated checksum.`;
  return [
    { name, checksum: checksums[checksumName](), value, encoding: "base64", mismatch: { code: "BadDigest", message } },
  ];
}

/** Other values mean that there is no checksum, or that the body is chunked. */
function readSha256Claim(headers: Headers): ChecksumClaim[] {
  const value = headers["x-amz-content-sha256"]?.toLowerCase();
  if (value === undefined || !/^[0-9a-f]{64}$/.test(value)) return [];
  const message = "The provided 'x-amz-content-sha256' header does not match what was computed.";
  const mismatch = { code: "XAmzContentSHA256Mismatch", message };
  return [{ name: "x-amz-content-sha256", checksum: createHash("sha256"), value, encoding: "hex", mismatch }];
}

interface Checksum {
  update(bytes: Uint8Array): unknown;
  digest(): Buffer;
}

const checksums: Readonly<Record<(typeof checksumAlgorithms)[number], () => Checksum>> = {
  crc32: () => new Crc(4, 0, 0xedb88320),
  crc32c: () => new Crc(4, 0, 0x82f63b78),
  crc64nvme: () => new Crc(8, 0x9a6c9329, 0xac4bc9b5),
  sha1: () => createHash("sha1"),
  sha256: () => createHash("sha256"),
};

/** A CRC by its reflected polynomial, computed in two halves, because bigints would take thirty times as long. */
class Crc implements Checksum {
  readonly #width: 4 | 8;
  readonly #highs = new Uint32Array(256);
  readonly #lows = new Uint32Array(256);
  #high = 0xffffffff;
  #low = 0xffffffff;

  constructor(width: 4 | 8, polynomialHigh: number, polynomialLow: number) {
    this.#width = width;
    for (let byte = 0; byte < 256; byte += 1) {
      let [high, low] = [0, byte];
      for (let bit = 0; bit < 8; bit += 1) {
        const isOdd = low & 1;
        low = (low >>> 1) | (high << 31);
        high >>>= 1;
        if (isOdd) [high, low] = [high ^ polynomialHigh, low ^ polynomialLow];
      }
      this.#highs[byte] = high;
      this.#lows[byte] = low;
    }
    if (width === 4) this.#high = 0;
  }

  update(bytes: Uint8Array): void {
    let [high, low] = [this.#high, this.#low];
    for (const byte of bytes) {
      const index = (low ^ byte) & 0xff;
      low = ((low >>> 8) | (high << 24)) ^ this.#lows[index]!;
      high = (high >>> 8) ^ this.#highs[index]!;
    }
    this.#high = high;
    this.#low = low;
  }

  digest(): Buffer {
    const digest = Buffer.alloc(8);
    digest.writeUInt32BE(~this.#high >>> 0);
    digest.writeUInt32BE(~this.#low >>> 0, 4);
    return digest.subarray(8 - this.#width);
  }
}

/** Thrown if the body is not valid aws-chunked, or ends early. */
class ChunkedBodyError extends Error {
  override readonly name = "ChunkedBodyError";
}

const maxLineBytes = 4096;

/**
 * An aws-chunked body repeats `length;chunk-signature=…` and the bytes until an empty chunk, and can end with trailers.
 * The URL authorizes the upload, so chunk signatures are not checked.
 */
async function* decodeChunked(
  body: AsyncIterable<Uint8Array>,
  onTrailer: (name: string, value: string) => void,
): AsyncGenerator<Uint8Array, void> {
  const reader = new ByteReader(body);
  try {
    for (;;) {
      const head = await reader.readLine();
      const length = /^([0-9a-f]{1,12})(?:;.*)?$/i.exec(head)?.[1];
      if (length === undefined) throw new ChunkedBodyError(`"${head.slice(0, 40)}" is not the length of a chunk`);
      const size = Number.parseInt(length, 16);
      if (size === 0) break;
      yield* reader.readBytes(size);
      if ((await reader.readLine()) !== "") throw new ChunkedBodyError("a chunk is longer than its length");
    }
    for (let line = await reader.readLine(); line !== ""; line = await reader.readLine()) {
      const colon = line.indexOf(":");
      if (colon < 1) throw new ChunkedBodyError("a trailer has no name");
      onTrailer(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
    }
  } finally {
    await reader.close();
  }
}

class ByteReader {
  readonly #pieces: AsyncIterator<Uint8Array>;
  #rest = Buffer.alloc(0);

  constructor(body: AsyncIterable<Uint8Array>) {
    this.#pieces = body[Symbol.asyncIterator]();
  }

  async readLine(): Promise<string> {
    for (;;) {
      const end = this.#rest.indexOf("\r\n");
      if (end >= 0 && end <= maxLineBytes) return this.#take(end, 2).toString("latin1");
      if (this.#rest.length > maxLineBytes) throw new ChunkedBodyError("a line is too long");
      if (!(await this.#readMore())) return this.#take(this.#rest.length, 0).toString("latin1");
    }
  }

  async *readBytes(count: number): AsyncGenerator<Uint8Array, void> {
    for (let remaining = count; remaining > 0; ) {
      if (this.#rest.length === 0 && !(await this.#readMore()))
        throw new ChunkedBodyError("the body ends within a chunk");
      const piece = this.#take(Math.min(remaining, this.#rest.length), 0);
      remaining -= piece.length;
      yield piece;
    }
  }

  /** Leaves the rest of the body unread. */
  async close(): Promise<void> {
    await this.#pieces.return?.();
  }

  #take(count: number, separatorLength: number): Buffer {
    const chunk = this.#rest.subarray(0, count);
    this.#rest = this.#rest.subarray(count + separatorLength);
    return chunk;
  }

  async #readMore(): Promise<boolean> {
    const { done, value } = await this.#pieces.next();
    if (done) return false;
    this.#rest = this.#rest.length === 0 ? Buffer.from(value) : Buffer.concat([this.#rest, value]);
    return true;
  }
}
