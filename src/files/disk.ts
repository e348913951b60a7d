import { constants, fdatasync, fsync, write } from "node:fs";
import { type FileHandle, link, open, readdir, rename, rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { promisify } from "node:util";
import { lookupTable } from "../base/object.ts";
import { isMissing, makeFolder } from "./folders.ts";

/** Operations on an open file. They are a port, so that a test can make an operation fail. */
export interface DiskFile {
  write(bytes: Uint8Array, position: number): Promise<void>;
  /** Reads into the buffer. Resolves with the number of bytes, which is 0 at the end. */
  read(into: Uint8Array, position: number): Promise<number>;
  size(): Promise<number>;
  truncate(length: number): Promise<void>;
  sync(): Promise<void>;
  /** Flushes the content and the metadata that is needed to read it. */
  datasync(): Promise<void>;
  close(): Promise<void>;
}

export interface CreateOptions {
  readonly mode: number;
  /** Whether the mode applies regardless of the umask, for a file that had that mode before. */
  readonly exactMode?: boolean;
}

/** Operations on the file system. Errors are system errors with a `code`. */
export interface Disk {
  /** Creates a file that must not exist yet. The default mode is 0600. */
  create(path: string, permissions?: CreateOptions): Promise<DiskFile>;
  /** Opens an existing file. Writing fails with ELOOP for a symbolic link, which can lead to any file. */
  open(path: string, access: "read" | "write"): Promise<DiskFile>;
  rename(from: string, to: string): Promise<void>;
  /** Gives a file a second name, which must be unused. */
  link(path: string, second: string): Promise<void>;
  /** Removes a file. Does nothing if the file does not exist. */
  remove(path: string): Promise<void>;
  list(folder: string): Promise<string[]>;
  /** Lists the names of regular files only, because reading a pipe would wait forever. */
  listFiles(folder: string): Promise<string[]>;
  /** Creates a folder and its parents. Resolves with the topmost folder that did not exist. */
  makeFolder(path: string): Promise<string | undefined>;
  /** Makes created, renamed and removed names in the folder durable. */
  syncFolder(path: string): Promise<void>;
}

export const systemDisk: Disk = {
  async create(path, { mode, exactMode = false } = { mode: 0o600 }) {
    const handle = await open(path, "wx", mode);
    if (exactMode) await handle.chmod(mode).catch((cause) => removeAndThrow(handle, path, cause));
    return toDiskFile(handle, path);
  },
  open: async (path, access) => toDiskFile(await open(path, access === "read" ? constants.O_RDONLY : writeFlags), path),
  rename: (from, to) => rename(from, to),
  link: (path, second) => link(path, second),
  remove: (path) => rm(path, { force: true }),
  list: (folder) => readdir(folder),
  async listFiles(folder) {
    const found = await readdir(folder, { withFileTypes: true });
    return found.filter((entry) => entry.isFile()).map(({ name }) => name);
  },
  makeFolder,
  async syncFolder(path) {
    // Windows cannot open folders, but the journal of its file system makes renames durable.
    if (process.platform === "win32") return;
    const folder = await open(path, constants.O_RDONLY);
    try {
      await sync(folder.fd);
    } catch (error) {
      // Some network file systems do not support this call. Their writes are complete when they return.
      if ((error as NodeJS.ErrnoException).code !== "EINVAL") throw error;
    } finally {
      await folder.close();
    }
  },
};

/** Windows does not have the flag O_NOFOLLOW. */
const writeFlags = constants.O_RDWR | (constants.O_NOFOLLOW ?? 0);

async function removeAndThrow(handle: FileHandle, path: string, cause: unknown): Promise<never> {
  await handle.close().catch(() => {});
  await rm(path, { force: true });
  throw cause;
}

// A write runs for each group of lines, where the handle's own methods are too slow. With Yarn's Plug'n'Play, handles
// cannot be synchronized.
const writeAt = promisify(write);
const datasync = promisify(fdatasync);
const sync = promisify(fsync);

function toDiskFile(handle: FileHandle, path: string): DiskFile {
  /** The system's errors of open files have no path. */
  const addPath = (error: unknown): never => {
    throw Object.assign(error as Error, { path });
  };
  return {
    async write(bytes, position) {
      for (let done = 0; done < bytes.byteLength; ) {
        const { bytesWritten } = await writeAt(handle.fd, bytes, done, bytes.byteLength - done, position + done).catch(
          addPath,
        );
        done += bytesWritten;
      }
    },
    read: async (into, position) => (await handle.read(into, 0, into.byteLength, position).catch(addPath)).bytesRead,
    size: async () => (await handle.stat().catch(addPath)).size,
    truncate: (length) => handle.truncate(length).catch(addPath),
    sync: () => sync(handle.fd).catch(addPath),
    datasync: () => datasync(handle.fd).catch(addPath),
    close: () => handle.close().catch(addPath),
  };
}

/** Creates a folder and its parents durably, so that a crash does not remove them. */
export async function makeFolderDurably(disk: Disk, path: string): Promise<void> {
  const topmost = await disk.makeFolder(path);
  if (topmost === undefined) return;
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    await disk.syncFolder(dirname(folder));
    if (folder.length <= resolve(topmost).length) return;
  }
}

/** Opens a file for the time of some work. */
export async function withFile<T>(
  disk: Disk,
  path: string,
  access: "read" | "write",
  work: (file: DiskFile) => Promise<T>,
): Promise<T> {
  const file = await disk.open(path, access);
  try {
    return await work(file);
  } finally {
    await file.close();
  }
}

/** Reads the text at the beginning of a file, up to that length. */
export const readBeginning = (disk: Disk, path: string, maxBytes: number): Promise<string> =>
  withFile(disk, path, "read", async (file) => {
    const bytes = Buffer.alloc(maxBytes);
    return bytes.toString("utf8", 0, await file.read(bytes, 0));
  });

/** Handles the error of a file that may be missing. */
export function ignoreMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}

const reasonsByCode = lookupTable<string>({
  EACCES: "permission is denied",
  EPERM: "the system does not allow it",
  EROFS: "the file system is read-only",
  ENOSPC: "no space is left on the disk",
  EDQUOT: "the disk quota is used up",
  EFBIG: "the file would become too large",
  EIO: "the disk reports an error",
  EMFILE: "too many files are open",
  ENFILE: "too many files are open on this machine",
  EEXIST: "a file is in place of the folder",
  EISDIR: "it is a folder",
  ENOTDIR: "a part of its path is not a folder",
  ENOENT: "it does not exist",
  ELOOP: "it is a link, or its links form a loop",
  ENAMETOOLONG: "its name is too long",
});

export const openFilesRemedies = {
  EMFILE: "Raise the limit (ulimit -n), or close other programs.",
  ENFILE: "Close other programs.",
} as const;

export type FsError = NodeJS.ErrnoException & { readonly code: string };

/** Reports whether the system rejected an operation for a reason in this table. */
export const isFsError = (error: unknown): error is FsError =>
  error instanceof Error && reasonsByCode[(error as NodeJS.ErrnoException).code ?? ""] !== undefined;

export const getFsErrorReason = ({ code }: FsError): string => reasonsByCode[code]!;

/** Returns the reason with its code: `permission is denied (EACCES)`. */
export const formatFsError = (refusal: FsError): string => `${getFsErrorReason(refusal)} (${refusal.code})`;

/** Returns the reason of any system error: that of `formatFsError`, its code or its message. */
export const formatSystemError = (error: NodeJS.ErrnoException): string =>
  isFsError(error) ? formatFsError(error) : (error.code ?? error.message);

/**
 * Returns the reason and the path of a file that the system rejected: `permission is denied (EACCES at
 * /data/emulator.json)`. Returns undefined for other errors, including errors of sockets and of programs that cannot be
 * started.
 */
export function describeFsError(error: unknown): string | undefined {
  if (!isFsError(error) || !isFileError(error)) return undefined;
  return error.path === undefined
    ? formatFsError(error)
    : `${getFsErrorReason(error)} (${error.code} at ${error.path})`;
}

const isFileError = ({ path, syscall = "" }: FsError): boolean =>
  path === undefined ? openFileCalls.test(syscall) : !syscall.startsWith("spawn");

const openFileCalls = /^(?:write|f?datasync|fsync|ftruncate|read)$/;
