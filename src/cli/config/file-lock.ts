import { dirname } from "node:path";
import { findLockConflict, isLockConflict, type Lock, acquireLock as take } from "../../files/lock.ts";
import { makeFolder } from "../../files/make-folder.ts";
import { CommandFailedError } from "../failure.ts";
import type { Host } from "../host.ts";

/** Long enough for another process to refresh a token at a slow service. */
const patienceMs = 45_000;
/** Without a sign of life for so long, a lock was left behind by a process of another machine. */
const forgottenMs = 5 * 60_000;
const pauseMs = 25;

/**
 * Does the work while no other process does any under the same lock, `PATH.lock`. A lock whose process is gone is
 * taken over. Exit 75 when it stays held.
 */
export async function withLock<T>(path: string, host: Host, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const file = `${path}.lock`;
  const deadline = host.wall.monotonicNow() + patienceMs;
  await makeFolder(dirname(path));
  let lock = await acquireFileLock(file, host);
  while (lock === undefined) {
    if (host.wall.monotonicNow() > deadline) {
      throw new CommandFailedError("temporary", "locked", `${file} is locked by another process.`, {
        hint: `If no svc process is running, remove ${file}.`,
      });
    }
    await host.wall.sleep(pauseMs, signal);
    signal.throwIfAborted();
    lock = await acquireFileLock(file, host);
  }
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

/**
 * Takes the lock, over from a process that is gone if need be; undefined when another one holds it. `life` is a file
 * that its holder writes to: of a holder on another machine there is no other sign.
 */
export async function acquireFileLock(file: string, host: Host, life = file): Promise<Lock | undefined> {
  const taken = await take(file, optionsOf(host, life)).catch((cause: Error) => {
    if (cause.name !== "NotALockFileError") throw cause;
    throw new CommandFailedError("failed", "not_a_lock", cause.message, { cause });
  });
  return isLockConflict(taken) ? undefined : taken;
}

/** Whether a process that is not gone holds the lock. */
export const isLocked = async (file: string, host: Host, life = file): Promise<boolean> =>
  (await findLockConflict(file, optionsOf(host, life))) !== undefined;

const optionsOf = ({ wall }: Host, life: string) => ({ wall, forgotten: { life, afterMs: forgottenMs } });
