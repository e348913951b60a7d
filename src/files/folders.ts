import { lstat, mkdir, open, readdir, readFile, readlink, realpath, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { toFields, tryParseJson } from "../base/object.ts";

/**
 * Resolves the path of a file to its absolute path without links. For a file that does not exist, links are followed to
 * the position where it would be created. Fails with ELOOP if links form a circle.
 */
export async function resolveRealPath(path: string): Promise<string> {
  const absolute = resolve(path);
  try {
    return await realpath(absolute);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const folder = dirname(absolute);
  if (folder === absolute) return absolute;
  const realFolder = await resolveRealPath(folder);
  const beneath = join(realFolder, basename(absolute));
  // A dangling link leads to the file to be created.
  const leadsTo = await readlink(beneath).catch(() => undefined);
  return leadsTo === undefined ? beneath : resolveRealPath(resolve(realFolder, leadsTo));
}

/**
 * Returns the real path of a file below a folder if a link leads out of the folder. Links in a clone are of its author.
 * Returns undefined for a path that is not below the folder, because the user chose it with its links.
 */
export async function findLinkTargetOutside(folder: string, path: string): Promise<string | undefined> {
  if (!isBelow(folder, path)) return undefined;
  const [realFolder, realPath] = await Promise.all([resolveRealPath(folder), resolveRealPath(path)]);
  return isBelow(realFolder, realPath) ? undefined : realPath;
}

function isBelow(folder: string, path: string): boolean {
  const steps = relative(folder, path);
  return steps !== ".." && !steps.startsWith(`..${sep}`);
}

/**
 * Creates a folder and its parents, accessible only to their owner. Resolves with the topmost folder that did not
 * exist. Node's recursive `mkdir` loops forever if the system reports a missing folder although its parent exists, as
 * below /proc.
 */
export async function makeFolder(path: string): Promise<string | undefined> {
  const absolute = resolve(path);
  const created = await makeSingleFolder(absolute).catch((error: unknown) => {
    if (isMissing(error) && dirname(absolute) !== absolute) return "missing" as const;
    throw error;
  });
  if (created !== "missing") return created ? absolute : undefined;
  const topmost = await makeFolder(dirname(absolute));
  return (await makeSingleFolder(absolute)) ? (topmost ?? absolute) : topmost;
}

export const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException | undefined)?.code === "ENOENT";

async function makeSingleFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    const found = isMissing(error) ? undefined : await stat(path).catch(() => undefined);
    if (found?.isDirectory()) return false;
    throw error;
  }
}

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

/** Reports whether a folder has a note that this user wrote about this folder. Fails if that cannot be determined. */
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
  } catch (error) {
    return ignoreUnreadable(error) ?? false;
  }
}

/** Errors of what is missing, and of what another user or a clone can have left. */
const unreadableCodes: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "EACCES", "EPERM", "EISDIR", "ELOOP"]);

/** With another error, such as too many open files, a marker or a state may exist. */
function ignoreUnreadable(error: unknown): undefined {
  if (!unreadableCodes.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
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
  const names = (await readdir(dirname(state)).catch(ignoreUnreadable)) ?? [];
  return names.some((name) => name.startsWith(basename(state)));
}
