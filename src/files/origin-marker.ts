import { open, readdir, readFile, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { toFields, tryParseJson } from "../base/object.ts";
import { makeFolder } from "./make-folder.ts";

/** Next to a state: says that this user made the folder, on this machine. */
const originFile = ".origin";

/** The folder that is found without being named, and so may have come with files of others. */
const stateFolder = ".svc";

/**
 * Notes in a folder that this user created it here. The note names the inodes of the folder and of itself: a clone, a
 * copy and an unpacked archive have others, while renames, restarts and volumes of containers preserve them.
 */
export async function writeOriginMarker(folder: string): Promise<void> {
  const path = join(folder, originFile);
  await rm(path, { force: true });
  const file = await open(path, "wx", 0o600);
  try {
    const [ofFile, ofFolder] = await Promise.all([file.stat({ bigint: true }), stat(folder, { bigint: true })]);
    await file.write(`${JSON.stringify({ folder: String(ofFolder.ino), file: String(ofFile.ino) })}\n`);
  } finally {
    await file.close();
  }
}

/** Whether a folder has such a note, which this user wrote about this very folder. */
export async function hasOriginMarker(folder: string): Promise<boolean> {
  const path = join(folder, originFile);
  try {
    const [text, ofFile, ofFolder] = await Promise.all([
      readFile(path, "utf8"),
      stat(path, { bigint: true }),
      stat(folder, { bigint: true }),
    ]);
    const noted = toFields(tryParseJson(text));
    const isOurs = process.getuid === undefined || ofFile.uid === BigInt(process.getuid());
    return isOurs && noted.folder === String(ofFolder.ino) && noted.file === String(ofFile.ino);
  } catch {
    return false;
  }
}

/** Whether a `.svc` folder holds something of that state, and was not made here. */
export const isForeignState = async (state: string): Promise<boolean> =>
  (await hasPartsOf(state)) && !(await hasOriginMarker(dirname(state)));

/**
 * Before a state is begun: makes its `.svc` folder and notes that it was made here, unless something of the state is in it
 * already. Says whether it counts as made here.
 */
export async function markNewState(state: string): Promise<boolean> {
  const folder = dirname(state);
  if (basename(folder) !== stateFolder) return false;
  if (await hasOriginMarker(folder)) return true;
  if (await hasPartsOf(state)) return false;
  // Opening the state reports errors of the folder; without the note, the next start asks.
  return makeFolder(folder)
    .then(() => writeOriginMarker(folder))
    .then(
      () => true,
      () => false,
    );
}

/** The state and the files next to it under its name: snapshots, journal, history. Dangling links count. */
async function hasPartsOf(state: string): Promise<boolean> {
  const names = await readdir(dirname(state)).catch(() => []);
  return names.some((name) => name.startsWith(basename(state)));
}
