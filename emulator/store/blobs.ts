import { createHash } from "node:crypto";

export interface Blobs {
  /**
   * Stores a stream and resolves when it is durable. Fails with BlobTooLargeError and stores nothing if there are more
   * than `maxBytes` bytes. `md5` is lower-case hex, for the ETag.
   */
  put(bytes: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Blob>;
  /** Returns the bytes as a stream, or undefined if no bytes have that hash. */
  open(sha256: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Restarts the retention time of unreferenced bytes, because a state that is being imported may refer to them. */
  extendUnreferencedRetention(): Promise<void>;
}

export interface Blob {
  readonly sha256: string;
  readonly md5: string;
  readonly size: number;
}

export class BlobTooLargeError extends Error {
  override readonly name = "BlobTooLargeError";
}

/** Forwards the incoming bytes. After the last byte, `getBlob` returns their size and hash. */
export function measureBlob(bytes: AsyncIterable<Uint8Array>, maxBytes: number) {
  const sha256 = createHash("sha256");
  const md5 = createHash("md5");
  let size = 0;
  let blob: Blob | undefined;
  async function* readPieces(): AsyncGenerator<Uint8Array, void> {
    for await (const piece of bytes) {
      if (size + piece.byteLength > maxBytes) throw new BlobTooLargeError(`More than ${maxBytes} bytes`);
      sha256.update(piece);
      md5.update(piece);
      size += piece.byteLength;
      yield piece;
    }
  }
  return {
    pieces: readPieces(),
    getBlob(): Blob {
      blob ??= { sha256: sha256.digest("hex"), md5: md5.digest("hex"), size };
      return blob;
    },
  };
}
