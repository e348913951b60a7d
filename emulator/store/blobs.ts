/** Uploaded bytes beside the state, by SHA-256. */
export interface Blobs {
  /**
   * Stores a stream and resolves once it is durable. Fails with BlobTooLarge past `maxBytes`; nothing is kept then.
   * `md5` is lower-case hex, for the ETag.
   */
  put(bytes: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Blob>;
  /** The bytes as a stream; undefined when there are none under that hash. */
  open(sha256: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Bytes that nothing names are kept as long as if that began now: a state that is taken in may name them again. */
  keepUnnamed(): Promise<void>;
}

export interface Blob {
  readonly sha256: string;
  readonly md5: string;
  readonly size: number;
}

export class BlobTooLarge extends Error {
  override readonly name = "BlobTooLarge";
}
