import { createHash } from "node:crypto";
import * as z from "zod";
import { describeFsError } from "../../src/files/disk.ts";
import { FileWriteError, type StoreFailedError } from "./port.ts";

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

export const Blob = z.strictObject({ sha256: z.string(), md5: z.string(), size: z.int() });
export type Blob = z.infer<typeof Blob>;

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

/** Converts a disk error, which has a declared response. `what` names the content. */
export const createWriteError = (what: string, cause: unknown): FileWriteError =>
  new FileWriteError(`The ${what} cannot be written: ${describeFsError(cause) ?? (cause as Error).message}`, { cause });

/** Stores content from outside. Only errors of the content stay unchanged. Others become the result of `toFailure`. */
export async function storeContent<T>(
  content: AsyncIterable<Uint8Array>,
  store: (content: AsyncIterable<Uint8Array>) => Promise<T>,
  toFailure: (cause: unknown) => StoreFailedError,
): Promise<T> {
  let hasFailed = false;
  async function* readPieces(): AsyncGenerator<Uint8Array, void> {
    try {
      yield* content;
    } catch (cause) {
      hasFailed = true;
      throw cause;
    }
  }
  return store(readPieces()).catch((cause) => {
    throw hasFailed ? cause : toFailure(cause);
  });
}

/**
 * Named documents next to a state, each stored completely or not at all. A name is a plain word (`isSnapshotName`), so
 * that no path leads out of their folder. Names that differ only in case are the same, because some disks cannot
 * distinguish them.
 */
export interface SnapshotStore {
  /** Resolves when the document is durable and replaces the one of that name, which stays if the stream fails. */
  put(name: string, document: AsyncIterable<Uint8Array>): Promise<void>;
  /** Resolves with blocks that end at the end of a line, or with undefined for an unknown name. */
  open(name: string): Promise<AsyncIterable<Buffer> | undefined>;
  /** Lists the documents, sorted by name. */
  list(): Promise<readonly StoredSnapshot[]>;
  /** Returns false if the name is unknown. */
  remove(name: string): Promise<boolean>;
}

export interface StoredSnapshot {
  readonly name: string;
  readonly bytes: number;
  /** Its path. Undefined for documents in memory. */
  readonly file: string | undefined;
}

export const isSnapshotName = (name: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name);

export const compareByName = (a: { readonly name: string }, b: { readonly name: string }): number =>
  a.name.localeCompare(b.name, "en", { numeric: true });

export const isSameName = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();
