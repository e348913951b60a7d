import { readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

/**
 * The path that all names of a file lead to, absolute and without links, also where there is no file yet: links are
 * followed to where one would be made. Fails with ELOOP where links lead in a circle.
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
  // Anything but a link that leads nowhere is a file that is to be made.
  const leadsTo = await readlink(beneath).catch(() => undefined);
  return leadsTo === undefined ? beneath : resolveRealPath(resolve(realFolder, leadsTo));
}
