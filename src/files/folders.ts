import { mkdir, readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";

/**
 * Resolves the path of a file to its absolute path without links. For a file that does not exist, links are followed to
 * the position where it would be created. Fails with ELOOP if links form a circle.
 */
export async function resolveRealPath(path: string): Promise<string> {
  const absolute = resolve(path);
  try {
    return await realpath(absolute);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
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

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === "ENOENT";

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
