import { mkdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/**
 * Makes a folder and those above it, for their owner alone. Resolves with the topmost that was not there yet. Node's
 * recursive `mkdir` begins again forever where the system says of a folder whose parent is there that it is not, as
 * below /proc.
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

/** False if it was there before. */
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
