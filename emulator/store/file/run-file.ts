import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { WallClock } from "../../../src/base/clock.ts";
import { makeFolder, resolveRealPath } from "../../../src/files/folders.ts";
import { acquireLock, isLockConflict, type Lock, type LockConflict } from "../../../src/files/lock.ts";

/**
 * A running emulator's description of itself, next to its state. It contains the control token, so its mode is 0600.
 */
export interface RunFile {
  readonly pid: number;
  /** New at each start. `GET ready` returns it too, so that another program on the same port is recognized. */
  readonly instance_id: string;
  readonly router_url: string;
  readonly control_url: string;
  readonly clusters: readonly { readonly id: string; readonly url: string }[];
  readonly token: string;
  /** True if the state is in memory, although the run file is named after a file. */
  readonly in_memory?: true;
  /** PostgreSQL URL without the password, if the state is there. */
  readonly store?: string;
}

/** A process that is or may be running uses the state, or the requested run file. */
export class StateLockedError extends Error {
  override readonly name = "StateLockedError";
  readonly pid: number;

  constructor(path: string, conflict: LockConflict) {
    super(formatConflict(path, conflict));
    this.pid = conflict.holder.pid;
  }
}

function formatConflict(path: string, { holder, life }: LockConflict): string {
  const { pid, machine, since } = holder;
  const url = typeof holder.router_url === "string" ? holder.router_url : undefined;
  if (life === "remote") {
    const details = [machine && `on ${machine}`, `pid ${pid}`, url, since && `since ${since}`]
      .filter(Boolean)
      .join(", ");
    return (
      `An emulator on another machine or in another container is using this state (${path}: ${details}). ` +
      `Stop it there, remove ${path} if it has ended, or choose another file with the option file.`
    );
  }
  if (url === undefined)
    return `"svc emulator repair" is running on this state (${path}: pid ${pid}). Wait until it ends.`;
  return (
    `An emulator is already running on this state (${path}: pid ${pid}, ${url}). ` +
    `Use it, stop it with "svc emulator stop${findStatePath(path)}", or choose another file with the option file.`
  );
}

/**
 * Returns the flag that names the state of the run file, because `stop` would otherwise stop the emulator of the
 * folder.
 */
function findStatePath(path: string): string {
  const state = path.replace(/\.run$/, "");
  return state !== path && existsSync(state) ? ` --file ${state}` : "";
}

export interface ClaimedRunFile {
  /** Adds the addresses of the clusters, which are known only after the state is open. */
  update(changes: Pick<RunFile, "clusters"> & Partial<Pick<RunFile, "token">>): Promise<void>;
  /** Returns true if the run files are still held. Removed run files are written again. */
  ensureHeld(): Promise<boolean>;
  release(): Promise<void>;
}

interface Claim {
  /**
   * The run files to hold: the run file of the state, which is its lock, and another run file if requested. Both have
   * the same contents, and each has an owner.
   */
  readonly paths: readonly string[];
  /** Contents to publish. Undefined for a repair, because a repair accepts no requests. */
  readonly run: RunFile | undefined;
  readonly wall: WallClock;
}

/**
 * Returns the run files to hold. The run file of the state is found by its real path, because a state has one writer
 * regardless of the name that is used for it. The other run file is optional.
 */
export async function listRunFilePaths(
  realState: string | undefined,
  otherPath: string | undefined,
): Promise<string[]> {
  const paths = realState === undefined ? [] : [`${realState}.run`];
  // The last segment is not followed, so that a link is rejected and not replaced.
  if (otherPath !== undefined) paths.push(join(await resolveRealPath(dirname(otherPath)), basename(otherPath)));
  return paths;
}

/**
 * Acquires the run files, including those that an ended process left behind. Fails with StateLockedError, or with
 * NotALockFileError for a file that svc did not write. Do not touch the state before this resolves. Call `release`
 * after the store is closed.
 */
export async function claimRunFile({ paths, run, wall }: Claim): Promise<ClaimedRunFile> {
  const locks: Lock[] = [];
  const release = async () => {
    for (let lock = locks.pop(); lock; lock = locks.pop()) await lock.release();
  };
  try {
    for (const path of new Set(paths)) {
      await makeFolder(dirname(path));
      const lock = await acquireLock(path, { wall, content: run ?? {} });
      if (isLockConflict(lock)) throw new StateLockedError(path, lock);
      locks.push(lock);
    }
  } catch (error) {
    await release();
    throw error;
  }
  return {
    async update(changes) {
      for (const lock of locks) await lock.update({ ...run, ...changes });
    },
    async ensureHeld() {
      for (const lock of locks) if (!(await lock.ensureHeld())) return false;
      return true;
    },
    release,
  };
}
