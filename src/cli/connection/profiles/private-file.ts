import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { isObject, tryParseJson } from "../../../base/object.ts";
import { writeFileAtomic } from "../../../files/atomic-write.ts";
import { type FsError, formatFsError, formatSystemError, isFsError } from "../../../files/disk.ts";
import { makeFolder, resolveRealPath } from "../../../files/folders.ts";
import { findLockConflict, isLockConflict, type Lock, acquireLock as take } from "../../../files/lock.ts";
import type { Context } from "../../command.ts";
import { stripByteOrderMark } from "../../parse/encoding.ts";
import { CommandFailedError } from "../../process/failure.ts";
import type { Host } from "../../process/host.ts";

/** Describes the error in the content of a file without quoting the content: `profile a must be an object`. */
export type ContentCheck = (content: Readonly<Record<string, unknown>>) => string | undefined;

/** Reads a JSON file, if it exists. Fails with exit code 2 if it is unreadable or has another shape. */
export async function readPrivateFile<T>(path: string, check: ContentCheck): Promise<T | undefined> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    const message = `Failed to read ${path}: ${formatSystemError(error)}.`;
    throw new CommandFailedError("usage", "config_unreadable", message, { cause: error });
  });
  if (text === undefined) return undefined;
  // The parser's message quotes the content, which contains secrets.
  const content = tryParseJson(stripByteOrderMark(text));
  const problem = isObject(content) ? check(content) : "the file must contain a JSON object";
  if (problem === undefined) return content as T;
  throw new CommandFailedError("usage", "config_damaged", `Cannot use ${path}: ${problem}.`, {
    hint: "Fix or remove the file.",
  });
}

/**
 * Changes the file atomically under a lock. Only its owner can read it (DECISIONS.md, L12). Returns the new content.
 * Fails with exit code 75 if another process keeps the lock.
 */
export async function changePrivateFile<T>(
  { host, signal }: Pick<Context, "host" | "signal">,
  path: string,
  check: ContentCheck,
  change: (content: T | undefined) => T | Promise<T>,
): Promise<T> {
  try {
    // A link stays a link, because some users store their configuration in another folder.
    const target = await resolveRealPath(path);
    return await withLock(target, host, signal, async () => {
      const content = await change(await readPrivateFile<T>(target, check));
      await writeFileAtomic(target, `${JSON.stringify(content, undefined, 2)}\n`);
      return content;
    });
  } catch (error) {
    throw isFsError(error) ? createUnwritableError(path, error) : error;
  }
}

export const createUnwritableError = (subject: string, cause: FsError): CommandFailedError =>
  new CommandFailedError("failed", "config_unwritable", `Failed to write ${subject}: ${formatFsError(cause)}.`, {
    hint: "Set SVC_CONFIG_DIR to another folder.",
    cause,
  });

/** Another process can refresh a token at a slow service in this time. */
const lockTimeoutMs = 45_000;
/** A lock without activity for this long belongs to a dead process on another machine. */
const maxLockIdleMs = 5 * 60_000;
const lockRetryMs = 25;

/** Takes over the lock of a dead process. Fails with exit code 75 if another process keeps the lock. */
async function withLock<T>(path: string, host: Host, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const file = `${path}.lock`;
  const deadline = host.wall.monotonicNow() + lockTimeoutMs;
  await makeFolder(dirname(path));
  for (;;) {
    const lock = await acquireFileLock(file, host);
    if (lock) return work().finally(() => lock.release());
    if (host.wall.monotonicNow() > deadline) {
      throw new CommandFailedError("temporary", "locked", `${file} is locked by another process.`, {
        hint: `If no svc process is running, remove ${file}.`,
      });
    }
    await host.wall.sleep(lockRetryMs, signal);
    signal.throwIfAborted();
  }
}

/**
 * Acquires the lock, even if a dead process still holds it. Returns undefined if another process has the lock. `life`
 * is a file that the owner of the lock writes to. Its changes are the only sign that an owner on another machine is
 * alive.
 */
export async function acquireFileLock(file: string, host: Host, life = file): Promise<Lock | undefined> {
  const lock = await take(file, createLockOptions(host, life)).catch((cause: Error) => {
    if (cause.name !== "NotALockFileError") throw cause;
    throw new CommandFailedError("failed", "not_a_lock", cause.message, { cause });
  });
  return isLockConflict(lock) ? undefined : lock;
}

export const isLocked = async (file: string, host: Host, life = file): Promise<boolean> =>
  (await findLockConflict(file, createLockOptions(host, life))) !== undefined;

const createLockOptions = ({ wall }: Host, life: string) => ({ wall, forgotten: { life, afterMs: maxLockIdleMs } });
