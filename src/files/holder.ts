import { randomBytes } from "node:crypto";
import { lstat, readFile } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { probeLiveness } from "./liveness-socket.ts";
import { findProcess, type Machine, thisMachine } from "./machine.ts";

/** Who holds a lock. It stands in the lock's file, beside whatever else the holder tells there. */
export interface LockHolder extends Machine {
  /** New for each lock that is taken. */
  readonly id: string;
  readonly pid: number;
  /** When that process began, as its kernel counts: a pid is given again. */
  readonly began?: string | undefined;
  /** ISO time at which it was taken. */
  readonly since?: string | undefined;
  /** Name of the socket beside the file on which the holder listens as long as it lives. */
  readonly socket?: string | undefined;
  /** Absolute path of the file, by which a copy of it is recognized. */
  readonly path?: string | undefined;
}

/** A lock's file as it stands on the disk. */
export interface LockFile {
  readonly holder: LockHolder;
  /** All that the file tells. */
  readonly content: Readonly<Record<string, unknown>>;
}

/** Something that is no lock has the lock's name. It is left as it is. */
export class NotALockFileError extends Error {
  override readonly name = "NotALockFileError";

  constructor(path: string, is: string) {
    super(`${path} is ${is} that svc did not write. Nothing was changed. Move it away, or choose another file.`);
  }
}

/**
 * alive, gone: certainly. perhaps: its pid is in use, maybe by another process. elsewhere: on another machine, or where
 * its pid means nothing here.
 */
export type HolderLiveness = "alive" | "gone" | "perhaps" | "elsewhere";

/** This process as a holder, under an id of its own. */
export async function createHolder(now: number): Promise<LockHolder> {
  const [machine, { began }] = await Promise.all([thisMachine(), findProcess(process.pid)]);
  const id = randomBytes(9).toString("base64url");
  return { id, pid: process.pid, began, since: new Date(now).toISOString(), ...machine };
}

export const socketName = (file: string, { id }: LockHolder): string => `${basename(file)}.${id}.socket`;

/** The file of a lock; undefined when there is none. Fails with NotALockFileError over what svc did not write. */
export async function readLock(file: string): Promise<LockFile | undefined> {
  const found = await lstat(file).catch(ifMissing);
  if (!found) return undefined;
  if (found.isSymbolicLink()) throw new NotALockFileError(file, "a symbolic link");
  if (!found.isFile()) throw new NotALockFileError(file, found.isDirectory() ? "a folder" : "a special file");
  const text = await readFile(file, "utf8").catch(ifMissing);
  return text === undefined ? undefined : parseLock(file, text);
}

function parseLock(file: string, text: string): LockFile {
  let content: Record<string, unknown> | undefined;
  try {
    content = JSON.parse(text);
  } catch {
    // What a machine that lost its power leaves of a file that it had not written out: nothing, zeros, or a part.
    if (/^[\0\s]*$/.test(text) || text.startsWith("{")) return { holder: nobody, content: {} };
  }
  // Run files had no id but that of their emulator, and neither they nor the locks of the command line told of sockets.
  const id = content?.id ?? content?.instance_id;
  if (typeof id === "string" && /^[\w-]{1,64}$/.test(id) && Number.isInteger(content?.pid)) {
    return { holder: holderOf(id, content!), content: content! };
  }
  throw new NotALockFileError(file, "a file with other contents");
}

function holderOf(id: string, content: Readonly<Record<string, unknown>>): LockHolder {
  const text = (name: keyof LockHolder) => (typeof content[name] === "string" ? (content[name] as string) : undefined);
  const socket = text("socket");
  return {
    id,
    pid: content.pid as number,
    began: text("began"),
    since: text("since"),
    // One that tells no machine was written before there were names of machines in it.
    machine: text("machine") ?? "",
    machine_id: text("machine_id"),
    boot: text("boot"),
    pid_namespace: text("pid_namespace"),
    // A name only, so that no path leads out of the folder.
    socket: socket !== undefined && basename(socket) === socket ? socket : undefined,
    path: text("path"),
  };
}

/** Of a file that was torn: no process has ever held a lock by it. */
const nobody: LockHolder = { id: "nobody", pid: 0, machine: "" };

/** Ids of the locks that this very process holds. */
export const locallyHeldLocks = new Set<string>();

/** Whether the holder of a lock's file lives, as far as the system can tell. */
export async function checkHolderLiveness(holder: LockHolder, file: string): Promise<HolderLiveness> {
  if (locallyHeldLocks.has(holder.id)) return "alive";
  if (holder.pid <= 0) return "gone";
  const here = await thisMachine();
  const isSameMachine =
    holder.machine === "" || (holder.machine === here.machine && same(holder.machine_id, here.machine_id));
  const bootsKnown = holder.boot !== undefined && here.boot !== undefined;
  if (bootsKnown ? holder.boot !== here.boot : !isSameMachine) {
    // The machine was started anew: whatever ran on it before is gone.
    return bootsKnown && isSameMachine ? "gone" : "elsewhere";
  }
  const answer = holder.socket === undefined ? "unknown" : await probeLiveness(join(dirname(file), holder.socket));
  if (answer === "answered") return "alive";
  if (!same(holder.pid_namespace, here.pid_namespace)) return answer === "refused" ? "gone" : "elsewhere";

  const found = await findProcess(holder.pid);
  if (!found.exists) return "gone";
  if (holder.began !== undefined && found.began !== undefined) return holder.began === found.began ? "alive" : "gone";
  // Not one of ours, so it belonged to an earlier process that had our pid.
  if (answer === "refused" || (holder.pid === process.pid && holder.machine !== "")) return "gone";
  return "perhaps";
}

/**
 * The file that its holder has where this one is a copy of it. A file that was moved with its folder, or that has several
 * paths, is none.
 */
export async function originalOf(file: string, { path, id }: LockHolder): Promise<string | undefined> {
  if (path === undefined || !isAbsolute(path) || path === resolve(file)) return undefined;
  const original = await readLock(path).catch(() => undefined);
  if (original?.holder.id !== id) return undefined;
  const [one, other] = await Promise.all([file, path].map((each) => lstat(each).catch(() => undefined)));
  return one && other && (one.ino !== other.ino || one.dev !== other.dev) ? path : undefined;
}

/** What an older version did not tell is no difference. */
const same = (one: string | undefined, other: string | undefined): boolean =>
  one === undefined || other === undefined || one === other;

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
