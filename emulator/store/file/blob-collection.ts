import { lstat, readdir, readFile, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { WallClock } from "../../../src/base/clock.ts";
import { isTemporaryName, writeFileAtomic } from "../../../src/files/atomic-write.ts";
import { isMissing } from "../../../src/files/disk.ts";
import { isLockRemnant } from "../../../src/files/lock.ts";
import { isBlobName, unreferencedNote } from "./file-blobs.ts";
import { snapshotFolder } from "./file-snapshot-store.ts";
import { historyFolder } from "./history/history-files.ts";

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

interface Collecting {
  /** The state's file, by its real path. */
  readonly path: string;
  /** Where its uploads are. */
  readonly folder: string;
  readonly wall: WallClock;
  /** The hashes that are named. Asked only where there is something to collect. */
  readonly named: () => Promise<ReadonlySet<string>>;
}

/** Removes uploaded bytes that nothing names any more, and gives their hashes. Call it only while nothing is served. */
export async function collectBlobs({ path, folder, wall, named }: Collecting): Promise<readonly string[]> {
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

/** Undefined where there is none yet. Fails over a file that is none: it is somebody else's, and stays. */
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
