import { open, readdir, readFile, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { toFields, tryParseJson } from "../base/object.ts";
import { makeFolder } from "./folders.ts";

/** A file next to a state, which records that this user created the folder on this machine. */
export const originFile = ".origin";

/** The folder that is found by default, and so may have come with files of others. */
const stateFolder = ".svc";

/**
 * Records in a folder that this user created it here. The note contains the inodes of the folder and of itself: a
 * clone, a copy and an unpacked archive have other inodes, while renames, restarts and volumes of containers preserve
 * them.
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

/** Whether a folder has a note that this user wrote about this folder. */
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

/** Whether a `.svc` folder contains files of that state and was not created here. */
export const isForeignState = async (state: string): Promise<boolean> =>
  (await hasPartsOf(state)) && !(await hasOriginMarker(dirname(state)));

/**
 * Before a state is created: creates its `.svc` folder and records that it was created here, unless it already contains
 * files of the state. Returns whether it counts as created here.
 */
export async function markNewState(state: string): Promise<boolean> {
  const folder = dirname(state);
  if (basename(folder) !== stateFolder) return false;
  if (await hasOriginMarker(folder)) return true;
  if (await hasPartsOf(state)) return false;
  // Errors of the folder are reported when the state is opened. Without the note, the next start asks.
  return makeFolder(folder)
    .then(() => writeOriginMarker(folder))
    .then(
      () => true,
      () => false,
    );
}

/** The names of the state and of the files next to it: snapshots, journals, history. Dangling links count. */
async function hasPartsOf(state: string): Promise<boolean> {
  const names = await readdir(dirname(state)).catch(() => []);
  return names.some((name) => name.startsWith(basename(state)));
}
