import { randomBytes } from "node:crypto";
import { lstat, readFile, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import type { WallClock } from "../base/clock.ts";
import { toFields, tryParseJson } from "../base/object.ts";
import { createFileAtomic, isTemporaryName, writeFileAtomic } from "./atomic-write.ts";
import { ignoreMissing } from "./disk.ts";
import { makeFolder } from "./folders.ts";
import { identifyMachine, listenForProbes, type Machine, probeLiveness, processExists } from "./machine.ts";

/*
 * A lock is a file that names its holder: pid, machine, and a socket next to it on which the holder listens while it
 * lives. The kernel knows whether it does, even across the containers of one machine. Packages rely on the age of the
 * file, so that a stopped process loses its lock to another (ARCHITECTURE.md, Written by hand).
 */

export interface LockHolder extends Machine {
  readonly id: string;
  readonly pid: number;
  readonly since?: string;
  /** Name of the socket. Omitted if the system or the disk does not support sockets. */
  readonly socket?: string | undefined;
  /** Absolute path of the file, which distinguishes the file from its copies. */
  readonly path?: string;
  readonly [data: string]: unknown;
}

/**
 * State of a holder. `uncertain` means that the pid is in use, possibly by another process. `remote` means that the
 * holder is on another machine or that its pid has no meaning here.
 */
type Liveness = "alive" | "gone" | "uncertain" | "remote";

export interface LockConflict {
  readonly holder: LockHolder;
  readonly life: Liveness;
}

interface LockOptions {
  readonly wall: WallClock;
  /** Other data in the file, which only its owner can read. */
  readonly content?: object;
  /**
   * Time without a change to the file `life` after which a holder on another machine is considered dead. Use this
   * option only if two simultaneous holders do no lasting harm. By default, a holder is never considered dead.
   */
  readonly forgotten?: { readonly life: string; readonly afterMs: number };
}

export interface Lock {
  update(content: object): Promise<void>;
  /** Reports whether the lock is still held. A removed file is restored, unless another process holds the lock. */
  ensureHeld(): Promise<boolean>;
  release(): Promise<void>;
}

/** Thrown when a file with the name of the lock is not a lock. The file is not changed. */
class NotALockFileError extends Error {
  override readonly name = "NotALockFileError";

  constructor(path: string, is: string) {
    super(`${path} is ${is}, not a lock file of svc. Nothing was changed. Move it away, or choose another file.`);
  }
}

const heldLockIds = new Set<string>();

/** Acquires the lock, including a lock whose holder has ended. Fails with NotALockFileError. */
export async function acquireLock(file: string, options: LockOptions): Promise<Lock | LockConflict> {
  const conflict = await findLockConflict(file, options);
  if (conflict) return conflict;
  const id = randomBytes(9).toString("base64url");
  const socket = `${file}.${id}.socket`;
  const server = await listenForProbes(socket);
  const own: LockHolder = {
    id,
    pid: process.pid,
    since: new Date(options.wall.now()).toISOString(),
    ...(await identifyMachine()),
    socket: server && basename(socket),
    path: resolve(file),
  };
  let { content } = options;
  const formatContent = () => `${JSON.stringify({ ...content, ...own }, undefined, 2)}\n`;
  const isOurs = async () => (await readLock(file).catch(() => undefined))?.id === id;
  const lock: Lock = {
    async update(changed) {
      content = changed;
      if (await isOurs()) await writeFileAtomic(file, formatContent(), { durable: false });
    },
    async ensureHeld() {
      try {
        const found = await readLock(file);
        if (found) return found.id === id;
      } catch (error) {
        // A file that cannot be checked can still be the lock of this process. A file that is not a lock cannot.
        if (error instanceof NotALockFileError) return false;
        throw error;
      }
      await makeFolder(dirname(file));
      return createFileAtomic(file, formatContent(), { durable: false });
    },
    async release() {
      if (await isOurs()) await rm(file, { force: true });
      heldLockIds.delete(id);
      if (!server) return;
      await new Promise((closed) => server.close(closed));
      // A socket on which no process listens is harmless.
      await rm(socket, { force: true }).catch(() => {});
    },
  };
  heldLockIds.add(id);
  const other = await tryAcquire(file, formatContent(), options).catch(async (error) => {
    await lock.release();
    throw error;
  });
  if (other) await lock.release();
  return other ?? lock;
}

/**
 * Tries to acquire a lock once. A stale lock has one heir: the process that creates the file named after the lock. Only
 * the heir can replace the lock, by renaming that file, so no held lock is ever removed. If an heir ends, its claim
 * gets an heir in the same way. Returns the holder if another process holds the lock.
 */
async function tryAcquire(file: string, text: string, options: LockOptions): Promise<LockConflict | undefined> {
  for (;;) {
    if (await createFileAtomic(file, text, { durable: false })) return undefined;
    const found = await findHolder(file, options);
    if (!found) continue;
    if (found.life !== "gone") return found;
    const { holder } = found;
    const claim = `${file}.${holder.id}`;
    const heir = await tryAcquire(claim, text, options);
    if (heir) return heir;
    if ((await readLock(file))?.id === holder.id) {
      await rename(claim, file);
      if (holder.socket) await rm(join(dirname(file), holder.socket), { force: true });
      return undefined;
    }
    await rm(claim, { force: true });
  }
}

export const isLockConflict = (result: Lock | LockConflict): result is LockConflict => "life" in result;

/** Returns the holder of the lock, or undefined if the holder has ended. */
export async function findLockConflict(file: string, options: LockOptions): Promise<LockConflict | undefined> {
  const found = await findHolder(file, options);
  return found?.life === "gone" ? undefined : found;
}

/** Returns the holder that the file names, if there is one. */
async function findHolder(file: string, options: LockOptions): Promise<LockConflict | undefined> {
  for (;;) {
    const holder = await readLock(file);
    if (!holder) return undefined;
    const life = await checkLiveness(holder, file, options);
    // The holder can have released the lock meanwhile, such as a process that has lost a race for it.
    if (life !== "uncertain" || (await readLock(file))?.id === holder.id) return { holder, life };
  }
}

async function checkLiveness(holder: LockHolder, file: string, { forgotten, wall }: LockOptions): Promise<Liveness> {
  // The holder of a copied lock would report that the original is alive.
  if ((await findOriginal(file, holder)) !== undefined) return "gone";
  const life = await checkHolder(holder, file);
  if (life !== "remote" || !forgotten) return life;
  const seen = await stat(forgotten.life).catch(() => undefined);
  return seen === undefined || wall.now() - seen.mtimeMs >= forgotten.afterMs ? "gone" : life;
}

/** Reports the state of a holder, whatever file it is read from. */
export async function checkHolder(holder: LockHolder, file: string): Promise<Liveness> {
  if (heldLockIds.has(holder.id)) return "alive";
  if (holder.pid <= 0) return "gone";
  const here = await identifyMachine();
  const isHere = holder.machine === here.machine && holder.machine_id === here.machine_id;
  // Processes of a machine that has restarted have ended.
  if (holder.boot !== here.boot) return isHere && holder.boot !== undefined ? "gone" : "remote";
  if (here.boot === undefined && !isHere) return "remote";
  const answer = holder.socket === undefined ? "unknown" : await probeLiveness(join(dirname(file), holder.socket));
  if (answer !== "unknown") return answer;
  if (holder.pid_namespace !== here.pid_namespace) return "remote";
  // The lock can belong to an earlier process with the pid of this process.
  return holder.pid === process.pid || !(await processExists(holder.pid)) ? "gone" : "uncertain";
}

/**
 * Reads the holder from a lock file. Returns undefined if the file does not exist. Fails with NotALockFileError for a
 * file that svc did not write.
 */
export async function readLock(file: string): Promise<LockHolder | undefined> {
  const found = await lstat(file).catch(ignoreMissing);
  if (!found) return undefined;
  if (found.isSymbolicLink()) throw new NotALockFileError(file, "a symbolic link");
  if (!found.isFile()) throw new NotALockFileError(file, found.isDirectory() ? "a folder" : "a special file");
  const text = await readFile(file, "utf8").catch(ignoreMissing);
  if (text === undefined) return undefined;
  const content = tryParseJson(text);
  // After a power failure, an unflushed file can be empty, contain zeros or be incomplete.
  if (content === undefined && /^(?:[\0\s]*$|\{)/.test(text)) return { id: "unreadable", pid: 0, machine: "" };
  const { id, pid, socket } = toFields(content);
  if (typeof id !== "string" || !/^[\w-]{1,64}$/.test(id) || !Number.isInteger(pid))
    throw new NotALockFileError(file, "a file with other contents");
  // Another socket of the folder must not count as the holder, and no path may lead out of the folder.
  const isName = typeof socket === "string" && basename(socket) === socket && socket.endsWith(`.${id}.socket`);
  return { ...(content as LockHolder), socket: isName ? socket : undefined };
}

/**
 * Returns the holder's file if this file is a copy. A file that was moved, or that has several paths, is not a copy.
 */
export async function findOriginal(file: string, { path, id }: LockHolder): Promise<string | undefined> {
  if (typeof path !== "string" || !isAbsolute(path) || path === resolve(file)) return undefined;
  const original = await readLock(path).catch(() => undefined);
  if (original?.id !== id) return undefined;
  const [item, other] = await Promise.all([file, path].map((each) => lstat(each).catch(() => undefined)));
  return item && other && (item.ino !== other.ino || item.dev !== other.dev) ? path : undefined;
}

/**
 * Reports whether a name next to a lock belongs to the lock: the name of a socket, of an heir's claim, or of an
 * unfinished lock.
 */
export const isLockRemnant = (name: string, lock: string): boolean =>
  isTemporaryName(name, lock) || (name.startsWith(`${lock}.`) && /^[\w-]{12}(\.|$)/.test(name.slice(lock.length + 1)));
