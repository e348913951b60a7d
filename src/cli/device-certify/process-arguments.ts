import { readdir, readFile } from "node:fs/promises";
import { basename } from "node:path";

/**
 * The name of a running program that has one of these texts among its arguments, where every user of the machine can read
 * it; null where none has, undefined where the system does not show arguments as files.
 */
export async function findArguments(texts: readonly string[]): Promise<string | null | undefined> {
  if (texts.length === 0) return undefined;
  const entries = await readdir("/proc").catch(() => []);
  const pids = entries.filter((name) => /^\d+$/.test(name));
  if (pids.length === 0) return undefined;
  for (const pid of pids) {
    const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (texts.some((text) => line.includes(text))) return basename(line.split("\0")[0]!);
  }
  return null;
}
