import { randomBytes } from "node:crypto";
import { mkdir, open, realpath, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { CommandFailed } from "./failure.ts";
import { withLock } from "./file-lock.ts";
import type { Host } from "./host.ts";
import { readPrivate } from "./private-file.ts";

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
