import { randomBytes } from "node:crypto";
import { dirname } from "node:path";
import { type CreateOptions, type Disk, systemDisk } from "./disk.ts";

/** Contents of a file. After an error of the stream, no file remains. */
type FileContent = string | Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

interface AtomicWriteOptions extends Partial<CreateOptions> {
  /** False if the file is not needed after the machine stops. */
  readonly durable?: boolean;
  readonly disk?: Disk;
  /** Called after the new file has replaced the old one. The replacement is not necessarily durable yet. */
  readonly onReplaced?: () => void;
}

/**
 * Creates a temporary name next to a file, for incomplete content. Only svc uses the pattern, which distinguishes
 * remains of a crash from files of users.
 */
export const createTemporaryName = (path: string): string => `${path}.${randomBytes(6).toString("hex")}.svc-tmp`;

const temporarySuffix = /\.[0-9a-f]{12}\.svc-tmp$/;

/** Returns the original name of a temporary name, or undefined for other names. */
export function parseTemporaryName(temporary: string): string | undefined {
  const at = temporary.search(temporarySuffix);
  return at === -1 ? undefined : temporary.slice(0, at);
}

/** Reports whether `createTemporaryName` made this name for a file of that name. */
export const isTemporaryName = (name: string, of: string): boolean => parseTemporaryName(name) === of;

/**
 * Durably replaces the file of that name. At every moment, either the old or the new file exists, complete. A symbolic
 * link itself is replaced; `resolveRealPath` returns its target. Packages for atomic writes do not flush the folder and
 * accept only complete contents (ARCHITECTURE.md, Written by hand).
 */
export async function writeFileAtomic(
  path: string,
  content: FileContent,
  writing: AtomicWriteOptions = {},
): Promise<void> {
  await commitTempFile(await writeTempFile(path, content, writing), path, writing);
}

/**
 * Creates a file with its complete content, so that readers never see an incomplete file. Returns false and changes
 * nothing if the name is in use, even by a dangling link.
 */
export async function createFileAtomic(
  path: string,
  content: FileContent,
  writing: AtomicWriteOptions = {},
): Promise<boolean> {
  const { disk = systemDisk } = writing;
  const aside = await writeTempFile(path, content, writing);
  try {
    await disk.link(aside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    await disk.remove(aside);
  }
  await syncFolder(path, writing);
  return true;
}

/**
 * Writes the content under a temporary name next to `path` and returns that name. It is the first half of
 * `writeFileAtomic`, for a file whose name depends on its content.
 */
export async function writeTempFile(
  path: string,
  content: FileContent,
  writing: AtomicWriteOptions = {},
): Promise<string> {
  const { disk = systemDisk, mode = 0o600, exactMode = false, durable = true } = writing;
  const aside = createTemporaryName(path);
  const file = await disk.create(aside, { mode, exactMode }).catch((error) => throwForFile(error, path));
  try {
    let length = 0;
    for await (const piece of toChunks(content)) {
      await file.write(piece, length);
      length += piece.byteLength;
    }
    if (durable) await file.sync();
    await file.close();
    return aside;
  } catch (error) {
    await file.close().catch(() => {});
    await disk.remove(aside).catch(() => {});
    return throwForFile(error, path);
  }
}

/**
 * Renames a temporary file to its final name, as the second half of `writeFileAtomic`. Removes the temporary file if
 * renaming fails.
 */
export async function commitTempFile(aside: string, path: string, writing: AtomicWriteOptions = {}): Promise<void> {
  const { disk = systemDisk, onReplaced } = writing;
  try {
    await disk.rename(aside, path);
  } catch (error) {
    await disk.remove(aside).catch(() => {});
    throwForFile(error, path);
  }
  onReplaced?.();
  await syncFolder(path, writing);
}

/** Throws an error that names the file instead of its temporary name. */
function throwForFile(error: unknown, path: string): never {
  const { path: failedPath = "" } = error as NodeJS.ErrnoException;
  throw parseTemporaryName(failedPath) === path ? Object.assign(error as Error, { path }) : error;
}

function toChunks(content: FileContent): Iterable<Uint8Array> | AsyncIterable<Uint8Array> {
  if (typeof content === "string") return [Buffer.from(content)];
  return content instanceof Uint8Array ? [content] : content;
}

async function syncFolder(path: string, { disk = systemDisk, durable = true }: AtomicWriteOptions): Promise<void> {
  if (durable) await disk.syncFolder(dirname(path));
}
