/**
 * Named documents next to a state, each stored as a whole or not at all. A name is a plain word (`isSnapshotName`), so
 * that no path leads out of their folder; two that differ in case alone are one name, for some disks cannot distinguish
 * them.
 */
export interface SnapshotStore {
  /**
   * Resolves once it is durable and has replaced the document of that name. A stream that fails leaves that document as
   * it was.
   */
  put(name: string, document: AsyncIterable<Uint8Array>): Promise<void>;
  /** Blocks that end at the end of a line; undefined when nothing has that name. */
  open(name: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Sorted by name. */
  list(): Promise<readonly StoredSnapshot[]>;
  /** False when nothing has that name. */
  remove(name: string): Promise<boolean>;
}

export interface StoredSnapshot {
  readonly name: string;
  readonly bytes: number;
  /** Its path; undefined in memory. */
  readonly file: string | undefined;
}

/** Valid names of documents. */
export const isSnapshotName = (name: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name);

export const byName = (a: { readonly name: string }, b: { readonly name: string }): number =>
  a.name.localeCompare(b.name, "en", { numeric: true });

export const isSameName = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();
