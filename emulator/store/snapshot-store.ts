/**
 * Named documents next to a state, each stored completely or not at all. A name is a plain word (`isSnapshotName`), so
 * that no path leads out of their folder. Names that differ only in case are the same, because some disks cannot
 * distinguish them.
 */
export interface SnapshotStore {
  /**
   * Resolves when the document is durable and has replaced the previous document of that name. If the stream fails, the
   * previous document stays.
   */
  put(name: string, document: AsyncIterable<Uint8Array>): Promise<void>;
  /**
   * Resolves with the document in blocks that end at the end of a line. Resolves with undefined if the name is unknown.
   */
  open(name: string): Promise<AsyncIterable<Uint8Array> | undefined>;
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

/** Returns whether a string is a valid name of a document. */
export const isSnapshotName = (name: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name);

export const compareByName = (a: { readonly name: string }, b: { readonly name: string }): number =>
  a.name.localeCompare(b.name, "en", { numeric: true });

export const isSameName = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();
