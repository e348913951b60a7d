import { lstat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { parseTemporaryName, writeFileAtomic } from "../../../src/files/atomic-write.ts";
import { type Disk, describeFsError, isMissing, systemDisk } from "../../../src/files/disk.ts";
import { makeFolderDurably } from "../../../src/files/folders.ts";
import { readLines } from "../../../src/files/read-lines.ts";
import { FileWriteError } from "../port.ts";
import { byName, isSameName, isSnapshotName, type SnapshotStore } from "../snapshot-store.ts";

/** The folder next to a state in which its named documents lie: its own, for several states may share a folder. */
export const snapshotFolder = (statePath: string): string => `${statePath}${folderSuffix}`;

const folderSuffix = ".snapshots";
const suffix = ".json";

/** The name that a path gives to a snapshot; undefined for one that does not lie in such a folder. */
export const snapshotNameAt = (path: string): string | undefined =>
  dirname(path).endsWith(folderSuffix) ? nameIn(basename(path)) : undefined;

/**
 * Named documents in a folder, one file each. The folder is made with the first. What an interrupted writing has left is
 * removed here, and nothing else. Call it only while holding the run file.
 */
export async function openFileSnapshotStore(options: {
  readonly folder: string;
  readonly disk?: Disk;
}): Promise<SnapshotStore> {
  const { folder, disk = systemDisk } = options;
  const pathOf = (name: string) => join(folder, `${name}${suffix}`);
  const names = async () => (await listed(disk, folder)).map(nameIn).filter((name) => name !== undefined);
  const remove = async (name: string) => {
    try {
      await disk.remove(pathOf(name));
      await disk.syncFolder(folder);
    } catch (cause) {
      throw failure(cause);
    }
  };
  for (const name of await listed(disk, folder)) {
    if (nameIn(parseTemporaryName(name) ?? "") !== undefined) await disk.remove(join(folder, name));
  }
  return {
    async put(name, document) {
      await makeFolderDurably(disk, folder).catch((cause) => {
        throw failure(cause);
      });
      const earlier = (await names()).find((other) => isSameName(name, other));
      await writeFileAtomic(pathOf(name), document, { disk, failure });
      if (earlier !== undefined && earlier !== name) await remove(earlier);
    },
    async open(name) {
      if (!isSnapshotName(name) || !(await names()).includes(name)) return undefined;
      return blocksOf(disk, pathOf(name));
    },
    async list() {
      const found = await names();
      const sizes = await Promise.all(found.map((name) => lstat(pathOf(name))));
      return found.map((name, i) => ({ name, bytes: sizes[i]!.size, file: pathOf(name) })).sort(byName);
    },
    async remove(name) {
      if (!isSnapshotName(name) || !(await names()).includes(name)) return false;
      await remove(name);
      return true;
    },
  };
}

async function* blocksOf(disk: Disk, path: string): AsyncGenerator<Uint8Array, void> {
  for await (const { bytes } of readLines(disk, path)) yield bytes;
}

/** The name of the document in a file of that name; undefined for a file without one. */
function nameIn(file: string): string | undefined {
  const name = file.endsWith(suffix) ? file.slice(0, -suffix.length) : "";
  return isSnapshotName(name) ? name : undefined;
}

/** Anything but a regular file belongs to the user. */
const listed = (disk: Disk, folder: string): Promise<string[]> =>
  disk.listFiles(folder).catch((error) => {
    if (isMissing(error)) return [];
    throw error;
  });

const failure = (cause: unknown): FileWriteError =>
  new FileWriteError(`The snapshot cannot be written: ${describeFsError(cause) ?? (cause as Error).message}`, {
    cause,
  });
