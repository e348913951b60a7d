import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { CommandFailed } from "./failure.ts";
import type { Host } from "./host.ts";

/** Long enough for another process to refresh a token at a slow service. */
const patienceMs = 45_000;
/** Nothing that is locked takes so long: a lock this old was left behind by a process of another machine. */
const forgottenMs = 5 * 60_000;
const pauseMs = 25;

interface Holder {
  readonly id: string;
  readonly pid: number;
  readonly machine: string;
}

/**
 * Does the work while no other process does any under the same lock, `PATH.lock`. A lock whose process is gone is
 * broken. Exit 75 when it stays held.
 */
export async function withLock<T>(path: string, host: Host, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const lock = `${path}.lock`;
  const holder: Holder = { id: randomBytes(9).toString("base64url"), pid: host.pid, machine: hostname() };
  const deadline = host.wall.now() + patienceMs;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  while (!(await createWhole(lock, holder))) {
    await breakIfLeft(lock, holder, host);
    if (host.wall.now() > deadline) {
      throw new CommandFailed("temporary", "locked", `Another process holds ${lock}.`, {
        hint: `If none is running, remove ${lock} and ${lock}.breaking.`,
      });
    }
    await host.wall.sleep(pauseMs, signal);
    signal.throwIfAborted();
  }
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
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

/** Only one process breaks a lock, and it looks again: else two could remove what a third has taken meanwhile. */
async function breakIfLeft(lock: string, own: Holder, host: Host): Promise<void> {
  const found = await holderOf(lock);
  if (found === undefined || (await isHeld(lock, found, own, host))) return;
  const gate = `${lock}.breaking`;
  if (!(await createWhole(gate, own))) return;
  try {
    if ((await holderOf(lock))?.id === found.id) await rm(lock, { force: true });
  } finally {
    await rm(gate, { force: true });
  }
}

async function holderOf(lock: string): Promise<Holder | undefined> {
  const text = await readFile(lock, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Holder;
  } catch {
    return { id: "unreadable", pid: 0, machine: "" };
  }
}

async function isHeld(lock: string, { pid, machine }: Holder, own: Holder, { wall }: Host): Promise<boolean> {
  if (machine === own.machine) return isProcess(pid);
  const found = await stat(lock).catch(() => undefined);
  return found !== undefined && wall.now() - found.mtimeMs < forgottenMs;
}

function isProcess(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
