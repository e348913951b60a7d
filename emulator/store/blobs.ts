import { createHash } from "node:crypto";

/** Uploaded bytes next to the state, by SHA-256. */
export interface Blobs {
  /**
   * Stores a stream and resolves once it is durable. Fails with BlobTooLargeError past `maxBytes`; nothing is stored
   * then. `md5` is lower-case hex, for the ETag.
   */
  put(bytes: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Blob>;
  /** The bytes as a stream; undefined when there are none under that hash. */
  open(sha256: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Bytes that nothing names are stored as long as if that began now: a state that is taken in may name them again. */
  keepUnnamed(): Promise<void>;
}

export interface Blob {
  readonly sha256: string;
  readonly md5: string;
  readonly size: number;
}

export class BlobTooLargeError extends Error {
  override readonly name = "BlobTooLargeError";
}

/** Forwards the incoming bytes; `measured` has their size and hash once all have come. */
export function measureBlob(bytes: AsyncIterable<Uint8Array>, maxBytes: number) {
  const sha256 = createHash("sha256");
  const md5 = createHash("md5");
  let size = 0;
  let blob: Blob | undefined;
  async function* pieces(): AsyncGenerator<Uint8Array, void> {
    for await (const piece of bytes) {
      if (size + piece.byteLength > maxBytes) throw new BlobTooLargeError(`More than ${maxBytes} bytes`);
      sha256.update(piece);
      md5.update(piece);
      size += piece.byteLength;
      yield piece;
    }
  }
  return {
    pieces: pieces(),
    measured(): Blob {
      blob ??= { sha256: sha256.digest("hex"), md5: md5.digest("hex"), size };
      return blob;
    },
  };
}
