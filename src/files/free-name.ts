import { basename, dirname, join } from "node:path";
import type { Disk } from "./disk.ts";

/** A path beside a file that no file has yet: `<file>.<word>`, `<file>.<word>-2`, … */
export async function freeName(disk: Disk, file: string, word: string): Promise<string> {
  const names = new Set(await disk.list(dirname(file)));
  let name = `${basename(file)}.${word}`;
  for (let i = 2; names.has(name); i += 1) name = `${basename(file)}.${word}-${i}`;
  return join(dirname(file), name);
}
