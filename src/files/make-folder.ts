import { mkdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/**
 * Creates a folder and its parents, for their owner only. Resolves with the topmost folder that did not exist. Node's
 * recursive `mkdir` loops forever if the system reports that a folder does not exist although its parent does, as below
 * /proc.
 */
export async function makeFolder(path: string): Promise<string | undefined> {
  const absolute = resolve(path);
  const made = await makeOne(absolute).catch((error: unknown) => {
    if (isMissing(error) && dirname(absolute) !== absolute) return "missing" as const;
    throw error;
  });
  if (made !== "missing") return made ? absolute : undefined;
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
