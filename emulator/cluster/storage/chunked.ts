/** Bytes that are no aws-chunked body, or end before it does. */
export class ChunkedBodyError extends Error {
  override readonly name = "ChunkedBodyError";
}

/** Longer than any line of lengths, signatures or trailers. */
const maxLineBytes = 4096;

/**
 * The bytes that an aws-chunked body carries: `length;chunk-signature=…`, the bytes, and so on until a chunk of none,
 * behind which trailers may stand. The URL authorizes the upload, so signatures of chunks are not checked.
 */
export async function* decodeChunked(
  body: AsyncIterable<Uint8Array>,
  onTrailer: (name: string, value: string) => void,
): AsyncGenerator<Uint8Array, void> {
  const reader = new ByteReader(body);
  for (;;) {
    const head = await reader.line();
    const length = /^([0-9a-f]{1,12})(?:;.*)?$/i.exec(head)?.[1];
    if (length === undefined) throw new ChunkedBodyError(`"${head.slice(0, 40)}" is not the length of a chunk`);
    const size = Number.parseInt(length, 16);
    if (size === 0) break;
    yield* reader.bytes(size);
    if ((await reader.line()) !== "") throw new ChunkedBodyError("a chunk is longer than its length");
  }
  for (let line = await reader.line(); line !== ""; line = await reader.line()) {
    const colon = line.indexOf(":");
    if (colon < 1) throw new ChunkedBodyError("a trailer has no name");
    onTrailer(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
}

/** Reads a stream by lines and by lengths. */
class ByteReader {
  readonly #pieces: AsyncIterator<Uint8Array>;
  #rest = Buffer.alloc(0);

  constructor(body: AsyncIterable<Uint8Array>) {
    this.#pieces = body[Symbol.asyncIterator]();
  }

  /** Up to the next CRLF; at the end of the stream what is left of it. */
  async line(): Promise<string> {
    for (;;) {
      const end = this.#rest.indexOf("\r\n");
      if (end >= 0 && end <= maxLineBytes) return this.#take(end, 2).toString("latin1");
      if (this.#rest.length > maxLineBytes) throw new ChunkedBodyError("a line is too long");
      if (!(await this.#more())) return this.#take(this.#rest.length, 0).toString("latin1");
    }
  }

  async *bytes(count: number): AsyncGenerator<Uint8Array, void> {
    for (let left = count; left > 0; ) {
      if (this.#rest.length === 0 && !(await this.#more())) throw new ChunkedBodyError("the body ends within a chunk");
      const piece = this.#take(Math.min(left, this.#rest.length), 0);
      left -= piece.length;
      yield piece;
    }
  }

  #take(count: number, skipped: number): Buffer {
    const taken = this.#rest.subarray(0, count);
    this.#rest = this.#rest.subarray(count + skipped);
    return taken;
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#pieces.next();
    if (done) return false;
    this.#rest = this.#rest.length === 0 ? Buffer.from(value) : Buffer.concat([this.#rest, value]);
    return true;
  }
}
