import { randomBytes } from "node:crypto";
import { link, open, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { systemDisk } from "./disk.ts";

/** What a file may be filled with. A stream that fails leaves nothing behind. */
export type Content = string | Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

export interface Writing {
  /** Permissions of the new file; 0600 when left out. */
  readonly mode?: number;
  /** Whether the mode is kept as it is whatever the umask says: for a file that had it before. */
  readonly exactMode?: boolean;
  /** False where nobody needs the file after the machine has stopped. */
  readonly durable?: boolean;
}

/**
 * A name beside a file for what becomes that file once it is whole. The pattern is ours alone, so that what a crash
 * leaves behind can be told from files of other people.
 */
export const temporaryName = (path: string): string => `${path}.${randomBytes(6).toString("hex")}.svc-tmp`;

/** Whether `temporaryName` made this name, for a file of that name. */
export const isTemporaryName = (name: string, of: string): boolean =>
  name.startsWith(`${of}.`) && /^[0-9a-f]{12}\.svc-tmp$/.test(name.slice(of.length + 1));

/**
 * Puts a file in the place of whatever has that name, durably: at every moment the old one or the new one is there,
 * whole. A symbolic link is replaced itself; `realTarget` gives the path behind it where links are to stay.
 * By hand: packages for it do not flush the folder, and take whole contents only.
 */
export async function writeWhole(path: string, content: Content, writing: Writing = {}): Promise<void> {
  const aside = await writeAside(path, content, writing);
  try {
    await rename(aside, path);
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  }
  if (writing.durable !== false) await systemDisk.syncFolder(dirname(path));
}

/**
 * Creates a file with all of its content at once, so that nobody reads half of it. False when something has that name
 * already, be it a link that leads nowhere: it stays as it is.
 */
export async function createWhole(path: string, content: Content, writing: Writing = {}): Promise<boolean> {
  const aside = await writeAside(path, content, writing);
  try {
    await link(aside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    await rm(aside, { force: true });
  }
  if (writing.durable !== false) await systemDisk.syncFolder(dirname(path));
  return true;
}

async function writeAside(path: string, content: Content, writing: Writing): Promise<string> {
  const { mode = 0o600, exactMode = false, durable = true } = writing;
  const aside = temporaryName(path);
  const file = await open(aside, "wx", mode);
  try {
    await writeFile(file, content);
    if (exactMode) await file.chmod(mode);
    if (durable) await file.sync();
    await file.close();
    return aside;
  } catch (error) {
    await file.close().catch(() => {});
    await rm(aside, { force: true });
    throw error;
  }
}
