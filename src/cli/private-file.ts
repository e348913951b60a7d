import { randomBytes } from "node:crypto";
import { mkdir, open, readFile, realpath, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { CommandFailed } from "./failure.ts";
import { withLock } from "./file-lock.ts";
import type { Host } from "./host.ts";

/** The content of a JSON file; undefined when there is none. Exit 2 when it cannot be read. */
export async function readPrivate<T>(path: string): Promise<T | undefined> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw new CommandFailed("usage", "config_unreadable", `Couldn't read ${path}: ${error.code}`, { cause: error });
  });
  if (text === undefined) return undefined;
  try {
    const content = JSON.parse(text) as T;
    if (typeof content === "object" && content !== null && !Array.isArray(content)) return content;
  } catch {
    // The parser's message quotes the text, and the text holds secrets.
  }
  throw new CommandFailed("usage", "config_damaged", `${path} is not a JSON object; mend or remove it.`);
}

/**
 * Replaces the content by what `change` makes of it, while no other process does. The file is whole at every moment,
 * and only its owner may read it (cli-conventions.md, 38). Gives back what `change` gave.
 */
export function changePrivate<T>(
  path: string,
  host: Host,
  signal: AbortSignal,
  change: (content: T | undefined) => T | Promise<T>,
): Promise<T> {
  return withLock(path, host, signal, async () => {
    const changed = await change(await readPrivate<T>(path));
    await replaceWhole(path, `${JSON.stringify(changed, undefined, 2)}\n`);
    return changed;
  }).catch((error: NodeJS.ErrnoException) => {
    const isDisk = ["EACCES", "EPERM", "EROFS", "ENOSPC", "ENOTDIR", "ENOENT", "EDQUOT"].includes(error.code ?? "");
    if (!isDisk) throw error;
    throw new CommandFailed("failed", "config_unwritable", `Couldn't write ${path}: ${error.code}`, {
      hint: "SVC_CONFIG_DIR names another folder.",
      cause: error,
    });
  });
}

async function replaceWhole(path: string, text: string): Promise<void> {
  // A link stays a link: people keep their configuration elsewhere.
  const target = await realpath(path).catch(() => path);
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  const aside = `${target}.${randomBytes(6).toString("hex")}.tmp`;
  const file = await open(aside, "wx", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
    await file.close();
    await rename(aside, target);
  } catch (error) {
    await file.close().catch(() => {});
    await rm(aside, { force: true });
    throw error;
  }
  // Windows cannot open folders.
  const folder = await open(dirname(target), "r").catch(() => undefined);
  await folder?.sync().catch(() => {});
  await folder?.close();
}
