import { realTarget } from "../../files/real-path.ts";
import { isRefusal, whyOf } from "../../files/refusals.ts";
import { writeWhole } from "../../files/whole-file.ts";
import { CommandFailed } from "../failure.ts";
import type { Host } from "../host.ts";
import { withLock } from "./file-lock.ts";
import { type Check, readPrivate } from "./private-file.ts";

/**
 * Replaces the content by what `change` makes of it, while no other process does. The file is whole at every moment,
 * and only its owner may read it (DECISIONS.md, L12). Gives back what `change` gave.
 */
export function changePrivate<T>(
  path: string,
  check: Check,
  host: Host,
  signal: AbortSignal,
  change: (content: T | undefined) => T | Promise<T>,
): Promise<T> {
  return changeLocked(path, check, host, signal, change).catch((error: unknown) => {
    if (!isRefusal(error)) throw error;
    throw new CommandFailed("failed", "config_unwritable", `Couldn't write ${path}: ${whyOf(error)}.`, {
      hint: "SVC_CONFIG_DIR names another folder.",
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
  const target = await realTarget(path);
  return withLock(target, host, signal, async () => {
    const changed = await change(await readPrivate<T>(target, check));
    await writeWhole(target, `${JSON.stringify(changed, undefined, 2)}\n`);
    return changed;
  });
}
