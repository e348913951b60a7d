import { randomBytes } from "node:crypto";
import { lstat, readFile, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import type { WallClock } from "../base/clock.ts";
import { createFileAtomic, isTemporaryName, writeFileAtomic } from "./atomic-write.ts";
import { makeFolder } from "./folders.ts";
import { identifyMachine, listenForProbes, type Machine, probeLiveness, processExists } from "./machine.ts";

/*
 * A lock is a file that names its holder: pid, machine, and a socket next to it on which the holder listens while it
 * lives. The kernel knows whether it does, even across the containers of one machine. By hand: packages rely on the age
 * of the file, so that a stopped process loses its lock to another.
 */

/** The holder of a lock: all data of the lock's file. */
export interface LockHolder extends Machine {
  readonly id: string;
  readonly pid: number;
  readonly since?: string;
  /** Name of the socket. Omitted if the system or the disk does not support sockets. */
  readonly socket?: string | undefined;
  /** Absolute path of the file, by which a copy of it is recognized. */
  readonly path?: string;
  readonly [data: string]: unknown;
}

/**
 * perhaps: its pid is in use, possibly by another process. elsewhere: it is on another machine, or its pid has no
 * meaning here.
 */
type Liveness = "alive" | "gone" | "perhaps" | "elsewhere";

export interface LockConflict {
  readonly holder: LockHolder;
  readonly life: Liveness;
}

export interface LockOptions {
  readonly wall: WallClock;
  /** The file's other data; only its owner can read it. */
  readonly content?: object;
  /**
   * The time without a change to the file `life` after which a holder on another machine is considered dead. Use it
   * only if two holders at once do no lasting harm. Omitted: never.
   */
  readonly forgotten?: { readonly life: string; readonly afterMs: number };
}

export interface Lock {
  /** Changes the file's other data. */
  update(content: object): Promise<void>;
  /** Whether it is still held. A file that was removed is restored, unless another process holds the lock. */
  ensureHeld(): Promise<boolean>;
  release(): Promise<void>;
}

/** A file with the name of the lock is not a lock. It is not changed. */
export class NotALockFileError extends Error {
  override readonly name = "NotALockFileError";

  constructor(path: string, is: string) {
    super(`${path} is ${is} that svc did not write. Nothing was changed. Move it away, or choose another file.`);
  }
}

const locallyHeld = new Set<string>();

/** Acquires the lock, from an ended holder if necessary. Fails with NotALockFileError. */
export async function acquireLock(file: string, options: LockOptions): Promise<Lock | LockConflict> {
  const conflict = await findLockConflict(file, options);
  if (conflict) return conflict;
  const id = randomBytes(9).toString("base64url");
  const socket = `${basename(file)}.${id}.socket`;
  const server = await listenForProbes(join(dirname(file), socket));
  const own: LockHolder = {
    id,
    pid: process.pid,
    since: new Date(options.wall.now()).toISOString(),
    ...(await identifyMachine()),
    socket: server && socket,
    path: resolve(file),
  };
  let { content } = options;
  const formatContent = () => `${JSON.stringify({ ...content, ...own }, undefined, 2)}\n`;
  const release = async () => {
    locallyHeld.delete(id);
    if (!server) return;
    await new Promise((closed) => server.close(closed));
    await rm(join(dirname(file), socket), { force: true });
  };
  locallyHeld.add(id);
  try {
    const other = await tryAcquire(file, formatContent(), options);
    if (other) {
      await release();
      return other;
    }
  } catch (error) {
    await release();
    throw error;
  }
  const isOurs = async () => (await readLock(file).catch(() => undefined))?.id === id;
  return {
    async update(changed) {
      content = changed;
      if (await isOurs()) await writeFileAtomic(file, formatContent(), { durable: false });
    },
    async ensureHeld() {
      // A file that cannot be checked may be ours, but a file that is not a lock is not.
      const found = await readLock(file).catch((error) => {
        if (error instanceof NotALockFileError) return null;
        throw error;
      });
      if (found !== undefined) return found?.id === id;
      await makeFolder(dirname(file));
      return createFileAtomic(file, formatContent(), { durable: false });
    },
    async release() {
      if (await isOurs()) await rm(file, { force: true });
      await release();
    },
  };
}

/**
 * A stale lock has one heir: the process that creates the file named after it. Only the heir may replace the lock, and
 * it does so by renaming that file, so no held lock is ever removed. If an heir ends, its own claim gets an heir in the
 * same way. Returns the holder if that is another process.
 */
async function tryAcquire(file: string, text: string, options: LockOptions): Promise<LockConflict | undefined> {
  for (;;) {
    if (await createFileAtomic(file, text, { durable: false })) return undefined;
    const holder = await readLock(file);
    if (!holder) continue;
    const life = await checkLiveness(holder, file, options);
    if (life !== "gone") return { holder, life };
    const claim = `${file}.${holder.id}`;
    const heir = await tryAcquire(claim, text, options);
    if (heir) return heir;
    if ((await readLock(file))?.id === holder.id) {
      await rename(claim, file);
      if (holder.socket) await rm(join(dirname(file), holder.socket), { force: true });
      return undefined;
    }
    // Another heir was faster and has acquired the lock.
    await rm(claim, { force: true });
  }
}

export const isLockConflict = (result: Lock | LockConflict): result is LockConflict => "life" in result;

/** The holder of the lock, unless it has ended. */
export async function findLockConflict(file: string, options: LockOptions): Promise<LockConflict | undefined> {
  const holder = await readLock(file);
  const life = holder && (await checkLiveness(holder, file, options));
  return life === undefined || life === "gone" ? undefined : { holder: holder!, life };
}

async function checkLiveness(holder: LockHolder, file: string, { forgotten, wall }: LockOptions): Promise<Liveness> {
  // The holder of a copied lock would report that the original is alive.
  if ((await findOriginal(file, holder)) !== undefined) return "gone";
  const life = await checkHolder(holder, file);
  if (life !== "elsewhere" || !forgotten) return life;
  const seen = await stat(forgotten.life).catch(() => undefined);
  return seen === undefined || wall.now() - seen.mtimeMs >= forgotten.afterMs ? "gone" : life;
}

async function checkHolder(holder: LockHolder, file: string): Promise<Liveness> {
  if (locallyHeld.has(holder.id)) return "alive";
  if (holder.pid <= 0) return "gone";
  const here = await identifyMachine();
  const isHere = holder.machine === here.machine && holder.machine_id === here.machine_id;
  // Processes of a machine that has restarted have ended.
  if (holder.boot !== here.boot) return isHere && holder.boot !== undefined ? "gone" : "elsewhere";
  if (here.boot === undefined && !isHere) return "elsewhere";
  const answer = holder.socket === undefined ? "unknown" : await probeLiveness(join(dirname(file), holder.socket));
  if (answer !== "unknown") return answer;
  if (holder.pid_namespace !== here.pid_namespace) return "elsewhere";
  // The pid is ours, but the lock belongs to an earlier process with that pid.
  return holder.pid === process.pid || !(await processExists(holder.pid)) ? "gone" : "perhaps";
}

/**
 * The holder that a lock file names. Undefined if there is none. Fails with NotALockFileError for a file that svc did
 * not write.
 */
export async function readLock(file: string): Promise<LockHolder | undefined> {
  const found = await lstat(file).catch(ignoreMissing);
  if (!found) return undefined;
  if (found.isSymbolicLink()) throw new NotALockFileError(file, "a symbolic link");
  if (!found.isFile()) throw new NotALockFileError(file, found.isDirectory() ? "a folder" : "a special file");
  const text = await readFile(file, "utf8").catch(ignoreMissing);
  if (text === undefined) return undefined;
  let content: Record<string, unknown> | undefined;
  try {
    content = JSON.parse(text);
  } catch {
    // An unflushed file after a power failure may be empty, contain zeros or be incomplete.
    if (/^[\0\s]*$/.test(text) || text.startsWith("{")) return { id: "nobody", pid: 0, machine: "" };
  }
  const { id, pid, socket } = content ?? {};
  if (typeof id !== "string" || !/^[\w-]{1,64}$/.test(id) || !Number.isInteger(pid))
    throw new NotALockFileError(file, "a file with other contents");
  // Only a name, so that no path leads out of the folder.
  const isName = typeof socket === "string" && basename(socket) === socket;
  return { ...(content as unknown as LockHolder), socket: isName ? socket : undefined };
}

/** The holder's file, if this one is a copy of it. A file that was moved, or that has several paths, is not a copy. */
export async function findOriginal(file: string, { path, id }: LockHolder): Promise<string | undefined> {
  if (typeof path !== "string" || !isAbsolute(path) || path === resolve(file)) return undefined;
  const original = await readLock(path).catch(() => undefined);
  if (original?.id !== id) return undefined;
  const [item, other] = await Promise.all([file, path].map((each) => lstat(each).catch(() => undefined)));
  return item && other && (item.ino !== other.ino || item.dev !== other.dev) ? path : undefined;
}

/** Whether a name next to a lock belongs to it: the name of a socket, of an heir's claim, or of an unfinished lock. */
export const isLockRemnant = (name: string, lock: string): boolean =>
  isTemporaryName(name, lock) || (name.startsWith(`${lock}.`) && /^[\w-]{12}(\.|$)/.test(name.slice(lock.length + 1)));

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
