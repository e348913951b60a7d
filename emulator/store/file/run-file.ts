import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { WallClock } from "../../../src/base/clock.ts";
import { resolveRealPath } from "../../../src/files/folders.ts";
import { acquireLock, isLockConflict, type Lock, type LockConflict } from "../../../src/files/lock.ts";
import { makeFolder } from "../../../src/files/make-folder.ts";

/** A running emulator's description of itself, next to its state. It holds the control token: mode 0600. */
export interface RunFile {
  readonly pid: number;
  /** New at each start; `GET ready` answers it too, so that another program on the same port is not taken for it. */
  readonly instance_id: string;
  readonly router_url: string;
  readonly control_url: string;
  readonly clusters: readonly { readonly id: string; readonly url: string }[];
  readonly token: string;
}

/** The state, or the requested run file, is in use by a process that lives or may live. */
export class StateLockedError extends Error {
  override readonly name = "StateLockedError";
  readonly pid: number;

  constructor(path: string, held: LockConflict) {
    super(wordsFor(path, held));
    this.pid = held.holder.pid;
  }
}

function wordsFor(path: string, { holder, life }: LockConflict): string {
  const { pid, machine, since } = holder;
  const url = typeof holder.router_url === "string" ? holder.router_url : undefined;
  if (life === "elsewhere") {
    const at = [machine && `on ${machine}`, `pid ${pid}`, url, since && `since ${since}`].filter(Boolean).join(", ");
    return (
      `An emulator on another machine or in another container is using this state (${path}: ${at}). ` +
      `Stop it there, remove ${path} if it has ended, or choose another file with the option file.`
    );
  }
  if (url === undefined)
    return `"svc emulator repair" is running on this state (${path}: pid ${pid}). Wait until it ends.`;
  return (
    `An emulator is already running on this state (${path}: pid ${pid}, ${url}). ` +
    `Use it, stop it with "svc emulator stop${stateBeside(path)}", or choose another file with the option file.`
  );
}

/** Names the state whose run file it is: without it, `stop` would mean the one of the folder. */
function stateBeside(path: string): string {
  const state = path.replace(/\.run$/, "");
  return state !== path && existsSync(state) ? ` --file ${state}` : "";
}

export interface ClaimedRunFile {
  /** Adds the addresses of the clusters, which are known only once the state is open. */
  update(more: Pick<RunFile, "clusters"> & Partial<Pick<RunFile, "token">>): Promise<void>;
  /** Whether they are still held; removed ones are written again. */
  ensureHeld(): Promise<boolean>;
  release(): Promise<void>;
}

interface Claim {
  /**
   * Run files to hold: that of the state, which is the lock on it, and another one if requested. It has the same
   * contents, and has an owner as well.
   */
  readonly paths: readonly string[];
  /** Contents to publish; undefined for a repair, during which the process cannot be asked. */
  readonly run: RunFile | undefined;
  readonly wall: WallClock;
}

/**
 * The run files to hold: that of the state, by its real path, for there is one writer whatever name it calls the state
 * by; and a further one where it is wanted.
 */
export async function listRunFilePaths(realState: string | undefined, further: string | undefined): Promise<string[]> {
  const paths = realState === undefined ? [] : [`${realState}.run`];
  // Its last part is not followed: a link is rejected, and not replaced.
  if (further !== undefined) paths.push(join(await resolveRealPath(dirname(further)), basename(further)));
  return paths;
}

/**
 * Takes the run files. One that was left behind by a process that is gone is taken over. Fails with StateLockedError, or
 * with NotALockFileError over a file that svc did not write. Nothing of the state may be touched before this resolves;
 * `release` comes after the store is closed.
 */
export async function claimRunFile({ paths, run, wall }: Claim): Promise<ClaimedRunFile> {
  const locks: Lock[] = [];
  const release = async () => {
    for (let lock = locks.pop(); lock; lock = locks.pop()) await lock.release();
  };
  try {
    for (const path of new Set(paths)) {
      await makeFolder(dirname(path));
      const taken = await acquireLock(path, { wall, content: run ?? {} });
      if (isLockConflict(taken)) throw new StateLockedError(path, taken);
      locks.push(taken);
    }
  } catch (error) {
    await release();
    throw error;
  }
  return {
    async update(more) {
      for (const lock of locks) await lock.update({ ...run, ...more });
    },
    async ensureHeld() {
      for (const lock of locks) if (!(await lock.ensureHeld())) return false;
      return true;
    },
    release,
  };
}
