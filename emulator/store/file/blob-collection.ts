import { createReadStream, existsSync } from "node:fs";
import { lstat, readdir, readFile, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import * as z from "zod";
import { dictionary } from "../../../src/api/shapes.ts";
import type { WallClock } from "../../../src/base/clock.ts";
import { tryParseJson } from "../../../src/base/object.ts";
import { commitTempFile, isTemporaryName, writeFileAtomic, writeTempFile } from "../../../src/files/atomic-write.ts";
import { type Disk, ignoreMissing, makeFolderDurably, systemDisk } from "../../../src/files/disk.ts";
import { isLockRemnant } from "../../../src/files/lock.ts";
import { type Blobs, createWriteError, measureBlob, storeContent } from "../blobs.ts";
import { getSnapshotFolder } from "./file-snapshot-store.ts";
import { getHistoryFolder } from "./history-files.ts";
import { parseJournalName } from "./journal-file.ts";

/*
 * Decides when uploaded bytes are removed. A row refers to them by their hash. So does an exported state, whose
 * location is unknown and which may be imported again. Bytes are therefore removed only when
 *
 * - no row of the state has named them at any check for 30 days, the time in which an exported state can be imported
 *   together with its uploads. An import restarts the 30 days of all bytes, because it may happen between two checks.
 *   The bytes must also have arrived more than 30 days ago, in case the machine's clock jumped;
 * - nothing else in the folder of the state can name them: another state (all states of a folder share `files/`), an
 *   exported state, or a damaged one that a repair set aside. Otherwise the 30 days restart.
 *
 * The check runs at a start, under the lock and before any request is served, so no upload waits for its row and no
 * import can name bytes that are being removed. It runs at most once a day. A crash during it leaves each file complete
 * or removed, and no row names a removed file. `findReferencedBlobs` also returns hashes that are named outside of the
 * state, such as in snapshots.
 */
const unreferencedRetentionMs = 30 * 24 * 3_600_000;
const minCheckIntervalMs = 24 * 3_600_000;

const UnreferencedNote = z.object({
  looked_at: z.string(),
  /** ISO time of the first check that found them unreferenced, by hash. */
  unnamed_since: dictionary(z.string()),
});
type UnreferencedNote = z.infer<typeof UnreferencedNote>;

interface BlobCollectionOptions {
  readonly path: string;
  readonly folder: string;
  readonly wall: WallClock;
  /** Returns the referenced hashes. Called only if there is something to remove. */
  readonly findReferencedBlobs: () => Promise<ReadonlySet<string>>;
}

/** Removes unreferenced uploads and returns their hashes. Call it only before requests are served. */
export async function collectBlobs({
  path,
  folder,
  wall,
  findReferencedBlobs,
}: BlobCollectionOptions): Promise<readonly string[]> {
  const names = (await readdir(folder)).filter(isBlobName);
  if (names.length === 0) return [];
  const note = await readNote(join(folder, unreferencedNote));
  const now = wall.now();
  const getAge = (time: string | number) => now - (typeof time === "number" ? time : Date.parse(time));
  if (note && getAge(note.looked_at) >= 0 && getAge(note.looked_at) < minCheckIntervalMs) return [];

  const unnamed_since: Record<string, string> = Object.create(null);
  const removedHashes: string[] = [];
  const ownsFolder = (await readdir(dirname(path))).every((name) => belongsToState(name, path, folder));
  const referencedHashes = ownsFolder ? await findReferencedBlobs() : new Set(names);
  for (const hash of names) {
    if (referencedHashes.has(hash)) continue;
    const since = note?.unnamed_since[hash] ?? new Date(now).toISOString();
    const file = await lstat(join(folder, hash));
    if (file.isFile() && getAge(since) >= unreferencedRetentionMs && getAge(file.mtimeMs) >= unreferencedRetentionMs) {
      await rm(join(folder, hash));
      removedHashes.push(hash);
    } else unnamed_since[hash] = since;
  }
  const newNote: UnreferencedNote = { looked_at: new Date(now).toISOString(), unnamed_since };
  await writeFileAtomic(join(folder, unreferencedNote), `${JSON.stringify(newNote, undefined, 2)}\n`);
  return removedHashes;
}

/** Reads the note. Fails if another file has its name, because that file belongs to the user. */
async function readNote(path: string): Promise<UnreferencedNote | undefined> {
  const text = await readFile(path, "utf8").catch(ignoreMissing);
  if (text === undefined) return undefined;
  const { data } = UnreferencedNote.safeParse(tryParseJson(text));
  if (!data) throw new Error(`${path} has other contents`);
  return data;
}

/** Reports whether a file in the folder of a state belongs to that state and refers to no uploads. */
function belongsToState(name: string, path: string, folder: string): boolean {
  const base = basename(path);
  return (
    [
      base,
      basename(folder),
      basename(getSnapshotFolder(path)),
      basename(getHistoryFolder(path)),
      `${base}.run`,
      ".gitignore",
      ".DS_Store",
    ].includes(name) ||
    isLockRemnant(name, `${base}.run`) ||
    isTemporaryName(name, base) ||
    parseJournalName(name, base) !== undefined
  );
}

/**
 * Reports whether a file in the folder can be an upload. Only a hash is a valid name, so that no path leads out of the
 * folder.
 */
const isBlobName = (name: string): boolean => /^[0-9a-f]{64}$/.test(name);

/** A file next to the uploads with the time at which each unreferenced upload was first found. */
const unreferencedNote = "svc-unnamed.json";

/** The temporary name of an upload until its hash is known. */
const unfinishedUpload = "upload";

/**
 * Uploaded bytes in a folder (`files/` next to the state), one file per content, named by its SHA-256. Only the remains
 * of interrupted uploads are removed here, because users store their own files anywhere. Call it only while holding the
 * run file.
 */
export async function openFileBlobs(options: { readonly folder: string; readonly disk?: Disk }): Promise<Blobs> {
  const { folder, disk = systemDisk } = options;
  await makeFolderDurably(disk, folder);
  for (const name of await disk.list(folder)) {
    if (!isTemporaryName(name, unfinishedUpload)) continue;
    const path = join(folder, name);
    if ((await lstat(path)).isFile()) await disk.remove(path);
  }
  return {
    async put(bytes, maxBytes) {
      const { pieces: content, getBlob } = measureBlob(bytes, maxBytes);
      const write = async (pieces: AsyncIterable<Uint8Array>) => {
        // A user can have removed the folder since the start.
        await makeFolderDurably(disk, folder);
        const temporaryFile = await writeTempFile(join(folder, unfinishedUpload), pieces, { disk });
        // An upload of the same content replaces the file with the same bytes.
        await commitTempFile(temporaryFile, join(folder, getBlob().sha256), { disk });
      };
      await storeContent(content, write, (cause) => createWriteError("upload", cause));
      return getBlob();
    },
    ...readBlobs(folder),
    extendUnreferencedRetention: () => disk.remove(join(folder, unreferencedNote)),
  };
}

/** Uploaded bytes in a folder that may belong to a user, or may not exist. */
export const readBlobs = (folder: string): Pick<Blobs, "open"> => ({
  async open(sha256) {
    const path = join(folder, sha256);
    return isBlobName(sha256) && existsSync(path) ? createReadStream(path) : undefined;
  },
});
