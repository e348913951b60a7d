import { mkdir, readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

/**
 * The path that all names of a file lead to: absolute and without links. A file that does not exist has one too: links
 * are followed to the position where it would be created. Fails with ELOOP if links form a circle.
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
  // Everything except a dangling link is a file that will be created.
  const leadsTo = await readlink(beneath).catch(() => undefined);
  return leadsTo === undefined ? beneath : resolveRealPath(resolve(realFolder, leadsTo));
}

/**
 * Creates a folder and its parents, for their owner only. Resolves with the topmost folder that did not exist. Node's
 * recursive `mkdir` loops forever if the system reports that a folder does not exist although its parent does, as below
 * /proc.
 */
export async function makeFolder(path: string): Promise<string | undefined> {
  const absolute = resolve(path);
  const created = await makeOne(absolute).catch((error: unknown) => {
    if (isMissing(error) && dirname(absolute) !== absolute) return "missing" as const;
    throw error;
  });
  if (created !== "missing") return created ? absolute : undefined;
  const topmost = await makeFolder(dirname(absolute));
  return (await makeOne(absolute)) ? (topmost ?? absolute) : topmost;
}

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === "ENOENT";

/** False if it existed before. */
async function makeOne(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    const found = isMissing(error) ? undefined : await stat(path).catch(() => undefined);
    if (found?.isDirectory()) return false;
    throw error;
  }
}
