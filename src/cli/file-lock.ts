import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { CommandFailed } from "./failure.ts";
import type { Host } from "./host.ts";

/** Long enough for another process to refresh a token at a slow service. */
const patienceMs = 45_000;
/** Without a sign of life for so long, a lock was left behind by a process of another machine. */
const forgottenMs = 5 * 60_000;
const pauseMs = 25;

interface Holder {
  readonly id: string;
  readonly pid: number;
  readonly machine: string;
  /** When that process began: a pid is given again, in a container often to the next process of the same program. */
  readonly began: number;
}

/** A lock that is held. */
export interface Lock {
  release(): Promise<void>;
}

/**
 * Does the work while no other process does any under the same lock, `PATH.lock`. A lock whose process is gone is
 * taken over. Exit 75 when it stays held.
 */
export async function withLock<T>(path: string, host: Host, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const file = `${path}.lock`;
  const deadline = host.wall.now() + patienceMs;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  let lock = await takeLock(file, host);
  while (lock === undefined) {
    if (host.wall.now() > deadline) {
      throw new CommandFailed("temporary", "locked", `Another process holds ${file}.`, {
        hint: `If none is running, remove ${file}.`,
      });
    }
    await host.wall.sleep(pauseMs, signal);
    signal.throwIfAborted();
    lock = await takeLock(file, host);
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
export async function takeLock(file: string, host: Host, life = file): Promise<Lock | undefined> {
  const own: Holder = { id: randomBytes(9).toString("base64url"), pid: host.pid, machine: hostname(), began };
  if (!(await take(file, own, host, life))) return undefined;
  return {
    async release() {
      if ((await holderOf(file))?.id === own.id) await rm(file, { force: true });
    },
  };
}

/** Whether a process that is not gone holds the lock. */
export async function isLocked(file: string, host: Host, life = file): Promise<boolean> {
  const found = await holderOf(file);
  return found !== undefined && isHeld(found, host, life);
}

/**
 * A lock that was left behind has one heir: whoever creates the file named after it. Only the heir may replace the
 * lock, and does so by renaming that file, so no lock that is held is ever removed. An heir that is gone leaves its
 * own claim to an heir in the same way.
 */
async function take(file: string, own: Holder, host: Host, life: string): Promise<boolean> {
  for (;;) {
    if (await createWhole(file, own)) return true;
    const left = await holderOf(file);
    if (left === undefined) continue;
    if (await isHeld(left, host, life)) return false;
    const claim = `${file}.${left.id}`;
    if (!(await take(claim, own, host, claim))) return false;
    if ((await holderOf(file))?.id === left.id) {
      await rename(claim, file);
      return true;
    }
    // Another heir was faster, and has the lock or had it.
    await rm(claim, { force: true });
  }
}

/** Creates the file with all of its content at once, so that nobody reads half of it. False when there is one. */
async function createWhole(path: string, holder: Holder): Promise<boolean> {
  const aside = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  await writeFile(aside, JSON.stringify(holder), { flag: "wx", mode: 0o600 });
  try {
    await link(aside, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    await rm(aside, { force: true });
  }
}

async function holderOf(file: string): Promise<Holder | undefined> {
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    const { id, pid, machine, began: at } = JSON.parse(text) as Holder;
    if (/^[\w-]+$/.test(id)) return { id, pid, machine, began: at };
  } catch {
    // Falls through: nobody is known to hold it.
  }
  return { id: "unreadable", pid: 0, machine: hostname(), began: 0 };
}

async function isHeld({ pid, machine, began: at }: Holder, host: Host, life: string): Promise<boolean> {
  if (machine !== hostname()) {
    const seen = await stat(life).catch(() => undefined);
    return seen !== undefined && host.wall.now() - seen.mtimeMs < forgottenMs;
  }
  return pid === host.pid ? at === began : isProcess(pid);
}

/** The beginning of this process, in milliseconds since 1970. */
const began = Math.round(performance.timeOrigin);

function isProcess(pid: number): boolean {
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
