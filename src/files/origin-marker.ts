import { lstat, open, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { toFields, tryParseJson } from "../base/object.ts";
import { makeFolder } from "./folders.ts";

/** File next to a state, which records that this user created the folder on this machine. */
export const originFile = ".origin";

/** Folder that svc finds by default. Files of other users can contain it. */
const stateFolder = ".svc";

/**
 * Records in a folder that this user created it here. The note contains the inodes of the folder and of the note. A
 * clone, a copy and an unpacked archive have different inodes. Renames, restarts and volumes of containers preserve
 * inodes.
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

/** Reports whether a folder has a note that this user wrote about this folder. */
export async function hasOriginMarker(folder: string): Promise<boolean> {
  const path = join(folder, originFile);
  try {
    const [text, ofFile, ofFolder] = await Promise.all([
      readFile(path, "utf8"),
      stat(path, { bigint: true }),
      stat(folder, { bigint: true }),
    ]);
    const marker = toFields(tryParseJson(text));
    const isOurs = process.getuid === undefined || ofFile.uid === BigInt(process.getuid());
    return isOurs && marker.folder === String(ofFolder.ino) && marker.file === String(ofFile.ino);
  } catch {
    return false;
  }
}

/** Marks a folder again that was removed while an emulator used it. */
export async function restoreOriginMarker(folder: string): Promise<void> {
  if (await hasOriginMarker(folder)) return;
  await excludeFromGit(folder);
  await writeOriginMarker(folder);
}

/** Lets git ignore a folder, because its contents are secrets of this machine. Preserves an existing file. */
export const excludeFromGit = (folder: string): Promise<void> =>
  writeFile(join(folder, gitignoreFile), "*\n", { mode: 0o600, flag: "wx" }).catch(() => {});

export const gitignoreFile = ".gitignore";

/** Reports whether a state is in a `.svc` folder. Only such a folder has an origin marker. */
export const isInStateFolder = (state: string): boolean => basename(dirname(state)) === stateFolder;

/**
 * Reports whether a `.svc` folder contains files of that state and was not created here. A link in place of the folder
 * can be part of a clone, too.
 */
export const isForeignState = async (state: string): Promise<boolean> =>
  ((await isLink(dirname(state))) || (await hasStateFiles(state))) && !(await hasOriginMarker(dirname(state)));

const isLink = async (path: string): Promise<boolean> =>
  (await lstat(path).catch(() => undefined))?.isSymbolicLink() === true;

/** State that svc finds by default, so that an origin marker also applies to it. */
const defaultStateName = "emulator.json";

/**
 * Creates the `.svc` folder of a new state. Records that it was created here, unless it already contains files of the
 * state or of the default state. Returns whether the folder counts as created here.
 */
export async function markNewState(state: string): Promise<boolean> {
  const folder = dirname(state);
  if (!isInStateFolder(state)) return false;
  if (await hasOriginMarker(folder)) return true;
  if (await isLink(folder)) return false;
  if ((await hasStateFiles(state)) || (await hasStateFiles(join(folder, defaultStateName)))) return false;
  // Errors of the folder are reported when the state is opened. Without the note, the next start requires confirmation.
  return makeFolder(folder)
    .then((topmost) => (topmost === undefined ? undefined : excludeFromGit(folder)))
    .then(() => writeOriginMarker(folder))
    .then(
      () => true,
      () => false,
    );
}

/**
 * Reports whether a folder contains the state or files next to it: snapshots, journals, history. Dangling links count.
 */
async function hasStateFiles(state: string): Promise<boolean> {
  const names = await readdir(dirname(state)).catch(() => []);
  return names.some((name) => name.startsWith(basename(state)));
}
