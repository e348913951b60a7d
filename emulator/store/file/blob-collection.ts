import { createReadStream, existsSync } from "node:fs";
import { lstat, readdir, readFile, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { WallClock } from "../../../src/base/clock.ts";
import { commitTempFile, isTemporaryName, writeFileAtomic, writeTempFile } from "../../../src/files/atomic-write.ts";
import { type Disk, describeFsError, isMissing, systemDisk } from "../../../src/files/disk.ts";
import { makeFolderDurably } from "../../../src/files/folders.ts";
import { isLockRemnant } from "../../../src/files/lock.ts";
import { type Blobs, measureBlob } from "../blobs.ts";
import { FileWriteError } from "../port.ts";
import { snapshotFolder } from "./file-snapshot-store.ts";
import { historyFolder } from "./history-files.ts";

/*
 * When uploaded bytes may go. A row names them by their hash; so does a state that was exported, of which nobody here
 * knows where it lies or whether it will be taken back. Bytes are therefore removed only when
 *
 * - no row of the state has named them at any look for 30 days: whoever exported a state before has that long to take
 *   it back with its uploads. When one is taken back, the 30 days of all begin anew, for between two looks it may come
 *   and go. And they came more than 30 days ago, should the machine's clock have leapt in between;
 * - nothing lies beside the state, in its folder, that could name them too: another state, for all states of a folder
 *   share `files/`; an exported one; a damaged one that a repair has set aside. When there is, the 30 days begin anew.
 *
 * It is done at a start, while the lock is held and before any request is served: no upload is on its way whose row is
 * yet to be written, and no import can name again what is being removed. At most one look a day. A crash amid it leaves
 * each file whole or gone, and no row has named those that are gone. What names bytes from outside of the state (a
 * snapshot) has to be told to `named`.
 */
const patienceMs = 30 * 24 * 3_600_000;
const betweenLooksMs = 24 * 3_600_000;

interface Note {
  /** ISO time. */
  readonly looked_at: string;
  /** ISO time of the first look that found them unnamed, by hash. */
  readonly unnamed_since: Readonly<Record<string, string>>;
}

interface BlobCollectionOptions {
  /** The state's file, by its real path. */
  readonly path: string;
  /** Folder of its uploads. */
  readonly folder: string;
  readonly wall: WallClock;
  /** The hashes that are named. Asked only where there is something to collect. */
  readonly named: () => Promise<ReadonlySet<string>>;
}

/** Removes uploaded bytes that nothing names any more, and gives their hashes. Call it only while nothing is served. */
export async function collectBlobs({ path, folder, wall, named }: BlobCollectionOptions): Promise<readonly string[]> {
  const kept = (await readdir(folder)).filter(isBlobName);
  if (kept.length === 0) return [];
  const note = await readNote(join(folder, unreferencedNote));
  const now = wall.now();
  const age = (time: string | number) => now - (typeof time === "number" ? time : Date.parse(time));
  if (note && age(note.looked_at) >= 0 && age(note.looked_at) < betweenLooksMs) return [];

  const unnamed_since: Record<string, string> = Object.create(null);
  const removed: string[] = [];
  const isAlone = (await readdir(dirname(path))).every((name) => isOfState(name, path, folder));
  const isNamed = isAlone ? await named() : new Set(kept);
  for (const hash of kept) {
    if (isNamed.has(hash)) continue;
    const since = note?.unnamed_since[hash] ?? new Date(now).toISOString();
    const file = await lstat(join(folder, hash));
    if (file.isFile() && age(since) >= patienceMs && age(file.mtimeMs) >= patienceMs) {
      await rm(join(folder, hash));
      removed.push(hash);
    } else unnamed_since[hash] = since;
  }
  const noted: Note = { looked_at: new Date(now).toISOString(), unnamed_since };
  await writeFileAtomic(join(folder, unreferencedNote), `${JSON.stringify(noted, undefined, 2)}\n`);
  return removed;
}

/** Undefined if there is none yet. Fails if another file has its name: that belongs to the user, and stays. */
async function readNote(path: string): Promise<Note | undefined> {
  const text = await readFile(path, "utf8").catch((error) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const note = JSON.parse(text) as Partial<Note>;
  if (typeof note?.looked_at !== "string" || typeof note.unnamed_since !== "object") {
    throw new Error(`${path} has other contents`);
  }
  return note as Note;
}

/** Whether a name in the folder of a state is that of a file which belongs to that state and names nothing else. */
function isOfState(name: string, path: string, folder: string): boolean {
  const base = basename(path);
  const journal = `${base}.journal.`;
  return (
    [
      base,
      basename(folder),
      basename(snapshotFolder(path)),
      basename(historyFolder(path)),
      `${base}.run`,
      ".gitignore",
      ".DS_Store",
    ].includes(name) ||
    isLockRemnant(name, `${base}.run`) ||
    isTemporaryName(name, base) ||
    (name.startsWith(journal) && /^\d+$/.test(name.slice(journal.length)))
  );
}

/** Whether a file in the folder can hold uploaded bytes: only a hash is a name, so that no path leads out of it. */
const isBlobName = (name: string): boolean => /^[0-9a-f]{64}$/.test(name);

/** Next to the uploads: since when which of them are named by nothing (blob-collection.ts). */
const unreferencedNote = "svc-unnamed.json";

/** The name of an upload, with a suffix of its own, until its hash is known. */
const unfinished = "upload";

/**
 * Uploaded bytes in a folder (`files/` next to the state), one file per content, named by its SHA-256. Remains of
 * interrupted uploads are removed here, and nothing else, for users store files of their own anywhere. Call it only
 * while holding the run file.
 */
export async function openFileBlobs(options: { readonly folder: string; readonly disk?: Disk }): Promise<Blobs> {
  const { folder, disk = systemDisk } = options;
  await makeFolderDurably(disk, folder);
  for (const name of await disk.list(folder)) {
    if (!isTemporaryName(name, unfinished)) continue;
    const path = join(folder, name);
    if ((await lstat(path)).isFile()) await disk.remove(path);
  }
  return {
    async put(bytes, maxBytes) {
      // It may have been removed since.
      await makeFolderDurably(disk, folder).catch((cause) => {
        throw failure(cause);
      });
      const { pieces, measured } = measureBlob(bytes, maxBytes);
      const aside = await writeTempFile(join(folder, unfinished), pieces, { disk, failure });
      const blob = measured();
      // The same content again replaces itself.
      await commitTempFile(aside, join(folder, blob.sha256), { disk, failure });
      return blob;
    },
    ...readBlobs(folder),
    keepUnnamed: () => disk.remove(join(folder, unreferencedNote)),
  };
}

/** Uploaded bytes in a folder that may be a user's, or may not exist. */
export const readBlobs = (folder: string): Pick<Blobs, "open"> => ({
  async open(sha256) {
    const path = join(folder, sha256);
    return isBlobName(sha256) && existsSync(path) ? createReadStream(path) : undefined;
  },
});

/** An error of the disk has a declared response; invalid bytes of an upload are the caller's error. */
const failure = (cause: unknown): FileWriteError =>
  new FileWriteError(`The upload cannot be written: ${describeFsError(cause) ?? (cause as Error).message}`, { cause });
