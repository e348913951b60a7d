import { readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { WallClock } from "../base/clock.ts";
import { createFileAtomic, isTemporaryName, writeFileAtomic } from "./atomic-write.ts";
import {
  checkHolderLiveness,
  createHolder,
  type HolderLiveness,
  type LockFile,
  type LockHolder,
  locallyHeldLocks,
  NotALockFileError,
  originalOf,
  readLock,
  socketName,
} from "./holder.ts";
import { type LivenessSocket, openLivenessSocket, probeLiveness } from "./liveness-socket.ts";
import { makeFolder } from "./make-folder.ts";

export interface LockOptions {
  readonly wall: WallClock;
  /** What the file tells besides who holds it; for its owner's eyes alone. */
  readonly content?: object;
  /**
   * Asks a holder that cannot be seen to live, by what its file tells: `itself` answers, `nobody` is there or somebody
   * else, or all is `silent`.
   */
  readonly ask?: (content: LockFile["content"]) => Promise<"itself" | "nobody" | "silent">;
  /**
   * After how long without a change to the file `life` a holder of another machine is given up. Only where two at
   * once would do no harm that lasts; left out: never.
   */
  readonly forgotten?: { readonly life: string; readonly afterMs: number };
}

/** A lock that is held. */
export interface Lock {
  /** Changes what the file tells besides who holds it. */
  tell(content: object): Promise<void>;
  /** Whether it is still held: a file that somebody has removed is put back, unless somebody else holds it by now. */
  keep(): Promise<boolean>;
  release(): Promise<void>;
}

/** Why a lock was not had. */
export interface LockConflict extends LockFile {
  readonly life: HolderLiveness;
  /** Asked, and has not answered in time. */
  readonly silent: boolean;
}

/**
 * Takes the lock that a file is, over from a holder that is gone if need be. A holder counts as living while the
 * kernel says so (by its socket beside the file, or its pid), while it answers when it is asked, and wherever neither
 * can be known. Fails with NotALockFileError when something else has the file's name. By hand: packages go by the age of the
 * file alone, so that a process that was stopped for a while loses its lock to another.
 */
export async function acquireLock(file: string, options: LockOptions): Promise<Lock | LockConflict> {
  const inTheWay = await findLockConflict(file, options);
  if (inTheWay) return inTheWay;
  const holder = await createHolder(options.wall.now());
  const socket = await openLivenessSocket(join(dirname(file), socketName(file, holder)));
  const own: LockHolder = { ...holder, socket: socket && socketName(file, holder), path: resolve(file) };
  locallyHeldLocks.add(own.id);
  try {
    const held = await take(file, own, options);
    if (!held) return lockOf(file, own, socket, options.content);
    await letGo(own, socket);
    return held;
  } catch (error) {
    await letGo(own, socket);
    throw error;
  }
}

export const isLockConflict = (result: Lock | LockConflict | LockFile): result is LockConflict => "life" in result;

/** Who holds the lock, if anybody does who is not gone. */
export async function findLockConflict(file: string, options: LockOptions): Promise<LockConflict | undefined> {
  const found = await look(file, options);
  return found && isLockConflict(found) ? found : undefined;
}

/** The lock's file: held, or left behind by a holder that is gone. */
async function look(file: string, options: LockOptions): Promise<LockConflict | LockFile | undefined> {
  const found = await readLock(file);
  if (!found) return undefined;
  // The holder would say that it lives, and mean the original.
  if ((await originalOf(file, found.holder)) !== undefined) return found;
  const life = await checkHolderLiveness(found.holder, file);
  if (life === "alive") return { ...found, life, silent: false };
  const answer = (await options.ask?.(found.content)) ?? "unasked";
  if (answer === "itself") return { ...found, life: "alive", silent: false };
  if (life === "gone" || (life === "perhaps" && answer === "nobody")) return found;
  if (life === "elsewhere" && (await isForgotten(options))) return found;
  return { ...found, life, silent: answer === "silent" };
}

async function isForgotten({ forgotten, wall }: LockOptions): Promise<boolean> {
  if (!forgotten) return false;
  const seen = await stat(forgotten.life).catch(() => undefined);
  return seen === undefined || wall.now() - seen.mtimeMs >= forgotten.afterMs;
}

/**
 * A lock that was left behind has one heir: whoever creates the file named after it. Only the heir may replace the
 * lock, and does so by renaming that file, so no lock that is held is ever removed. An heir that is gone leaves its
 * own claim to an heir in the same way. Gives who holds it, when that is somebody else.
 */
async function take(file: string, own: LockHolder, options: LockOptions): Promise<LockConflict | undefined> {
  for (;;) {
    if (await createFileAtomic(file, textOf(own, options.content), { durable: false })) return undefined;
    const left = await look(file, options);
    if (!left) continue;
    if (isLockConflict(left)) return left;
    const claim = `${file}.${left.holder.id}`;
    const heir = await take(claim, own, options);
    if (heir) return heir;
    if ((await readLock(file))?.holder.id === left.holder.id) {
      await rename(claim, file);
      await removeDeadSockets(file);
      return undefined;
    }
    // Another heir was faster, and has the lock or had it.
    await rm(claim, { force: true });
  }
}

function lockOf(file: string, own: LockHolder, socket: LivenessSocket | undefined, given?: object): Lock {
  let told = given;
  const isOurs = async () => (await readLock(file).catch(() => undefined))?.holder.id === own.id;
  return {
    async tell(content) {
      told = content;
      if (await isOurs()) await writeFileAtomic(file, textOf(own, content), { durable: false });
    },
    async keep() {
      // What cannot be looked at may be ours; what has its name and is no lock is not.
      const found = await readLock(file).catch((error) => {
        if (error instanceof NotALockFileError) return null;
        throw error;
      });
      if (found !== undefined) return found?.holder.id === own.id;
      await makeFolder(dirname(file));
      return createFileAtomic(file, textOf(own, told), { durable: false });
    },
    async release() {
      if (await isOurs()) await rm(file, { force: true });
      await letGo(own, socket);
    },
  };
}

async function letGo(own: LockHolder, socket: LivenessSocket | undefined): Promise<void> {
  locallyHeldLocks.delete(own.id);
  await socket?.close();
}

/** Whether a name beside a lock is one that taking it gives: of a socket, of an heir's claim, of what becomes a lock. */
export const isLockRemnant = (name: string, lock: string): boolean =>
  isTemporaryName(name, lock) || (name.startsWith(`${lock}.`) && /^[\w-]{12}(\.|$)/.test(name.slice(lock.length + 1)));

/** What `kill -9` leaves beside a lock: sockets on which nobody listens any more. */
async function removeDeadSockets(file: string): Promise<void> {
  const folder = dirname(file);
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    if (!name.endsWith(".socket") || !isLockRemnant(name, basename(file))) continue;
    if ((await probeLiveness(path)) === "refused") await rm(path, { force: true });
  }
}

const textOf = (own: LockHolder, content: object = {}): string =>
  `${JSON.stringify({ ...content, ...own }, undefined, 2)}\n`;
