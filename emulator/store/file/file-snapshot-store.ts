import { lstat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { parseTemporaryName, writeFileAtomic } from "../../../src/files/atomic-write.ts";
import { type Disk, ignoreMissing, makeFolderDurably, systemDisk } from "../../../src/files/disk.ts";
import { readLines } from "../../../src/files/read-log.ts";
import {
  compareByName,
  createWriteError,
  isSameName,
  isSnapshotName,
  type SnapshotStore,
  storeContent,
} from "../blobs.ts";
import type { FileWriteError } from "../port.ts";

/**
 * Returns the folder of a state's snapshots, which is next to the state. Each state has its own folder, because several
 * states may share a folder.
 */
export const getSnapshotFolder = (statePath: string): string => `${statePath}${folderSuffix}`;

const folderSuffix = ".snapshots";
const suffix = ".json";

/** Returns the snapshot name in a path. Returns undefined if the path is not in such a folder. */
export const parseSnapshotPath = (path: string): string | undefined =>
  dirname(path).endsWith(folderSuffix) ? parseName(basename(path)) : undefined;

/**
 * Opens a store of named documents in a folder, with one file for each. The folder is created with the first document.
 * Only the remains of interrupted writes are removed here. Call it only while holding the run file.
 */
export async function openFileSnapshotStore(options: {
  readonly folder: string;
  readonly disk?: Disk;
}): Promise<SnapshotStore> {
  const { folder, disk = systemDisk } = options;
  const toPath = (name: string) => join(folder, `${name}${suffix}`);
  const listNames = async () => (await listFiles(disk, folder)).map(parseName).filter((name) => name !== undefined);
  const remove = async (name: string) => {
    await disk.remove(toPath(name));
    await disk.syncFolder(folder);
  };
  for (const name of await listFiles(disk, folder)) {
    if (parseName(parseTemporaryName(name) ?? "") !== undefined) await disk.remove(join(folder, name));
  }
  return {
    put: (name, document) =>
      storeContent(
        document,
        async (pieces) => {
          await makeFolderDurably(disk, folder);
          const existingName = (await listNames()).find((other) => isSameName(name, other));
          await writeFileAtomic(toPath(name), pieces, { disk });
          if (existingName !== undefined && existingName !== name) await remove(existingName);
        },
        toWriteError,
      ),
    async open(name) {
      if (!isSnapshotName(name) || !(await listNames()).includes(name)) return undefined;
      return readLines(disk, toPath(name));
    },
    async list() {
      const names = await listNames();
      const sizes = await Promise.all(names.map((name) => lstat(toPath(name))));
      return names.map((name, i) => ({ name, bytes: sizes[i]!.size, file: toPath(name) })).sort(compareByName);
    },
    async remove(name) {
      if (!isSnapshotName(name) || !(await listNames()).includes(name)) return false;
      await remove(name).catch((cause) => {
        throw toWriteError(cause);
      });
      return true;
    },
  };
}

/** Parses the name of the document from the name of its file. Returns undefined if it is not a document. */
function parseName(file: string): string | undefined {
  const name = file.endsWith(suffix) ? file.slice(0, -suffix.length) : "";
  return isSnapshotName(name) ? name : undefined;
}

/** Lists regular files only, because other files belong to the user. */
const listFiles = async (disk: Disk, folder: string): Promise<string[]> =>
  (await disk.listFiles(folder).catch(ignoreMissing)) ?? [];

const toWriteError = (cause: unknown): FileWriteError => createWriteError("snapshot", cause);
