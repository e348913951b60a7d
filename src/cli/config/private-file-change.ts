import { writeFileAtomic } from "../../files/atomic-write.ts";
import { formatFsError, isFsError } from "../../files/fs-errors.ts";
import { resolveRealPath } from "../../files/real-path.ts";
import { CommandFailedError } from "../failure.ts";
import type { Host } from "../host.ts";
import { withLock } from "./file-lock.ts";
import { type Check, readPrivateFile } from "./private-file.ts";

/**
 * Replaces the content by what `change` makes of it, while no other process does. The file is whole at every moment,
 * and only its owner may read it (DECISIONS.md, L12). Gives back what `change` gave.
 */
export function changePrivateFile<T>(
  path: string,
  check: Check,
  host: Host,
  signal: AbortSignal,
  change: (content: T | undefined) => T | Promise<T>,
): Promise<T> {
  return changeLocked(path, check, host, signal, change).catch((error: unknown) => {
    if (!isFsError(error)) throw error;
    throw new CommandFailedError("failed", "config_unwritable", `Failed to write ${path}: ${formatFsError(error)}.`, {
      hint: "Set SVC_CONFIG_DIR to another folder.",
      cause: error,
    });
  });
}

async function changeLocked<T>(
  path: string,
  check: Check,
  host: Host,
  signal: AbortSignal,
  change: (content: T | undefined) => T | Promise<T>,
): Promise<T> {
  // A link stays a link: people keep their configuration elsewhere.
  const target = await resolveRealPath(path);
  return withLock(target, host, signal, async () => {
    const changed = await change(await readPrivateFile<T>(target, check));
    await writeFileAtomic(target, `${JSON.stringify(changed, undefined, 2)}\n`);
    return changed;
  });
}
