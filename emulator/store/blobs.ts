/** Uploaded bytes beside the state, by SHA-256. */
export interface Blobs {
  /**
   * Stores a stream and resolves once it is durable. Fails with BlobTooLarge past `maxBytes`; nothing is kept then.
   * `md5` is lower-case hex, for the ETag.
   */
  put(bytes: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Blob>;
  /** The bytes as a stream; undefined when there are none under that hash. */
  open(sha256: string): AsyncIterable<Uint8Array> | undefined;
}

export interface Blob {
  readonly sha256: string;
  readonly md5: string;
  readonly size: number;
}

export class BlobTooLarge extends Error {
  override readonly name = "BlobTooLarge";
}
