import { dirname, join } from "node:path";
import type { Disk, DiskFile } from "../../../src/files/disk.ts";
import type { DiskCall } from "../store.ts";

/** Thrown after a crash of the disk, when every operation fails. */
export class DiskCrashedError extends Error {}

/** Returns a number from 0 to below 1, which decides what survives a crash. */
export type RandomSource = () => number;

type Change = (content: Uint8Array, chance: RandomSource) => Uint8Array;

interface Inode {
  /** Content that a process reads. */
  content: Uint8Array;
  /** Content that always survives a crash. */
  durable: Uint8Array;
  /** Changes since the last sync. Each can survive a crash entirely, in part or not at all. */
  unsynced: Change[];
}

type Entries = Map<string, Inode>;
/** A change of a folder, such as a rename, which survives entirely or not at all. */
type RenamedEntries = ReadonlyMap<string, Inode | undefined>;

interface Folder {
  entries: Entries;
  durable: Entries;
  unsynced: RenamedEntries[];
}

const sector = 16;

/**
 * An in-memory disk that loses unsynced data in a crash. Synced data survives. Any subset of the unsynced file writes
 * survives, with any of their sectors. Any subset of creations, renames, links and removals survives, unless their
 * folder was synced afterwards. A synced file can lose its name. Real file systems preserve more.
 */
export class ForgetfulDisk implements Disk {
  readonly #folders: Map<string, Folder>;
  /** Folders whose own entry can be lost. */
  readonly #newFolders: Set<string>;
  /** Called before each step. Can throw. */
  beforeStep: (step: DiskCall, path: string) => void = () => {};
  #crashed = false;

  constructor(folders: Map<string, Folder> = new Map([["/", createEmptyFolder()]]), newFolders = new Set<string>()) {
    this.#folders = folders;
    this.#newFolders = newFolders;
  }

  /** Returns the disk after a crash. This disk becomes unusable. */
  crash(chance: RandomSource): ForgetfulDisk {
    this.#crashed = true;
    const inodes = new Map<Inode, Inode>();
    const getStateAfterCrash = (inode: Inode): Inode => {
      const existing = inodes.get(inode);
      if (existing) return existing;
      const content = inode.unsynced.reduce((bytes, change) => change(bytes, chance), inode.durable);
      const found = { content, durable: content, unsynced: [] };
      inodes.set(inode, found);
      return found;
    };
    const folders = new Map<string, Folder>();
    for (const [path, folder] of this.#folders) {
      if (this.#newFolders.has(path) && chance() < 0.5) continue;
      const entries = new Map(folder.durable);
      for (const renaming of folder.unsynced) if (chance() < 0.5) rename(entries, renaming);
      const found: Entries = new Map([...entries].map(([name, inode]) => [name, getStateAfterCrash(inode)]));
      folders.set(path, { entries: found, durable: new Map(found), unsynced: [] });
    }
    return new ForgetfulDisk(folders);
  }

  async create(path: string): Promise<DiskFile> {
    this.#step("create", path);
    if (this.#folder(path).entries.has(path)) throw createSystemError("EEXIST", path);
    const inode = { content: new Uint8Array(), durable: new Uint8Array(), unsynced: [] };
    this.#rename(path, new Map([[path, inode]]));
    return this.#fileOf(inode, path);
  }

  async open(path: string): Promise<DiskFile> {
    return this.#fileOf(this.#inode(path), path);
  }

  async rename(from: string, to: string): Promise<void> {
    this.#step("rename", to);
    this.#rename(
      to,
      new Map([
        [from, undefined],
        [to, this.#inode(from)],
      ]),
    );
  }

  async link(path: string, second: string): Promise<void> {
    this.#step("link", second);
    this.#rename(second, new Map([[second, this.#inode(path)]]));
  }

  async remove(path: string): Promise<void> {
    this.#step("remove", path);
    if (this.#folder(path).entries.has(path)) this.#rename(path, new Map([[path, undefined]]));
  }

  async list(path: string): Promise<string[]> {
    return [...this.#folderAt(path).entries.keys()].map((name) => name.slice(join(path, "/").length));
  }

  listFiles(path: string): Promise<string[]> {
    return this.list(path);
  }

  async makeFolder(path: string): Promise<string | undefined> {
    if (this.#folders.has(path)) return undefined;
    const above = await this.makeFolder(dirname(path));
    this.#folders.set(path, createEmptyFolder());
    this.#newFolders.add(path);
    return above ?? path;
  }

  async syncFolder(path: string): Promise<void> {
    this.#step("syncFolder", path);
    const folder = this.#folderAt(path);
    folder.durable = new Map(folder.entries);
    folder.unsynced = [];
    for (const child of this.#newFolders) if (dirname(child) === path) this.#newFolders.delete(child);
  }

  #fileOf(inode: Inode, path: string): DiskFile {
    const change = (step: DiskCall, apply: Change, changeAll: Change) => {
      // The change during which the disk crashes can survive in part.
      inode.unsynced.push(apply);
      this.#step(step, path);
      inode.content = changeAll(inode.content, () => 0);
    };
    const sync = async (step: DiskCall) => {
      this.#step(step, path);
      inode.durable = inode.content;
      inode.unsynced = [];
    };
    return {
      write: async (bytes, position) => {
        const bytesToWrite = Uint8Array.from(bytes);
        change(
          "write",
          (content, chance) => applyPartialWrite(content, bytesToWrite, position, chance),
          (content) => applyPartialWrite(content, bytesToWrite, position, () => 0),
        );
      },
      read: async (into, position) => {
        const part = inode.content.subarray(position, position + into.byteLength);
        into.set(part);
        return part.byteLength;
      },
      size: async () => inode.content.byteLength,
      truncate: async (length) => {
        const cut: Change = (content) => content.slice(0, length);
        change("truncate", (content, chance) => (chance() < 0.5 ? cut(content, chance) : content), cut);
      },
      sync: () => sync("sync"),
      datasync: () => sync("datasync"),
      close: async () => {},
    };
  }

  #step(step: DiskCall, path: string): void {
    if (this.#crashed) throw new DiskCrashedError();
    this.beforeStep(step, path);
  }

  #rename(path: string, renaming: RenamedEntries): void {
    const folder = this.#folder(path);
    folder.unsynced.push(renaming);
    rename(folder.entries, renaming);
  }

  #inode(path: string): Inode {
    const inode = this.#folder(path).entries.get(path);
    if (inode === undefined) throw createSystemError("ENOENT", path);
    return inode;
  }

  #folder(path: string): Folder {
    return this.#folderAt(dirname(path));
  }

  #folderAt(path: string): Folder {
    const folder = this.#folders.get(path);
    if (folder === undefined) throw createSystemError("ENOENT", path);
    return folder;
  }
}

const createEmptyFolder = (): Folder => ({ entries: new Map(), durable: new Map(), unsynced: [] });

function rename(entries: Entries, renaming: RenamedEntries): void {
  for (const [name, inode] of renaming) {
    if (inode) entries.set(name, inode);
    else entries.delete(name);
  }
}

/**
 * Applies a write as a crash can leave it: none of it, all of it, its beginning, or any of its sectors. The other
 * sectors read as zeros.
 */
function applyPartialWrite(content: Uint8Array, bytes: Uint8Array, position: number, chance: RandomSource): Uint8Array {
  const fate = chance();
  if (fate >= 0.75) return content;
  const end = fate < 0.25 ? bytes.byteLength : Math.floor(chance() * (bytes.byteLength + 1));
  const isThere = fate < 0.5 ? () => true : () => chance() < 0.5;
  const grown = new Uint8Array(Math.max(content.byteLength, position + end));
  grown.set(content);
  for (let at = 0; at < end; ) {
    // Sectors are aligned in the file, not in the write.
    const next = Math.min(end, at + sector - ((position + at) % sector));
    if (isThere()) grown.set(bytes.subarray(at, next), position + at);
    at = next;
  }
  return grown;
}

const createSystemError = (code: string, path: string): Error => Object.assign(new Error(`${code}: ${path}`), { code });
