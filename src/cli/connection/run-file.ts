import { statSync } from "node:fs";
import { lstat, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fieldsOf } from "../../base/object.ts";
import { hasOriginMarker } from "../../files/origin-marker.ts";
import { resolveRealPath } from "../../files/real-path.ts";
import { UsageError } from "../failure.ts";
import type { Host } from "../host.ts";
import { defaultStateFile, findNearestState } from "./state-folder.ts";

/** What a running emulator writes beside its state (DECISIONS.md, E3). */
export interface RunningEmulator {
  readonly routerUrl: string;
  readonly token: string;
  readonly pid: number;
  readonly instanceId: string;
}

/**
 * The state that is meant: the one named, else the nearest in this folder and those above it, else a new one here. Throws
 * a UsageError for a folder.
 */
export function stateFile(host: Host, file: string | undefined): string {
  if (file === undefined) return findNearestState(host.cwd) ?? resolve(host.cwd, defaultStateFile);
  const named = resolve(host.cwd, file);
  if (!statSync(named, { throwIfNoEntry: false })?.isDirectory()) return named;
  throw new UsageError(`--file: ${file} is a folder, not a file`, {
    hint: `Did you mean ${join(file, "emulator.json")}?`,
  });
}

/** Where an emulator on that state writes what it tells: beside the file itself, whatever links lead to it. */
export const resolveRunFile = async (state: string): Promise<string> =>
  `${await resolveRealPath(state).catch(() => state)}.run`;

/**
 * The emulator that a run file tells of; undefined where there is none, or it does not count: the file has to be this
 * user's alone and to name this machine, since it may have come with somebody's files. Whether that emulator runs there,
 * `isItself` says.
 */
export async function readRunFile(path: string): Promise<RunningEmulator | undefined> {
  const running = await runFileAt(path);
  return running && (await whyDistrusted(path, running)) === undefined ? running : undefined;
}

/** Why a run file that is there does not count; undefined where it does, or is not there. */
export async function explainDistrust(path: string): Promise<string | undefined> {
  const running = await runFileAt(path);
  return running && whyDistrusted(path, running);
}

async function runFileAt(path: string): Promise<RunningEmulator | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    const { router_url: routerUrl, token, pid, instance_id: instanceId } = fieldsOf(JSON.parse(text));
    return typeof routerUrl === "string" && typeof token === "string"
      ? { routerUrl, token, pid: Number(pid), instanceId: String(instanceId) }
      : undefined;
  } catch {
    // Half written: it is being created right now.
    return undefined;
  }
}

async function whyDistrusted(path: string, { routerUrl }: RunningEmulator): Promise<string | undefined> {
  const [{ originalOf, readLock }, { isOnThisMachine }, found] = await Promise.all([
    import("../../files/lock.ts"),
    import("../../files/machine.ts"),
    lstat(path).catch(() => undefined),
  ]);
  if (!found?.isFile()) return "it is not a regular file";
  if (process.getuid !== undefined) {
    if (found.uid !== process.getuid()) return "it belongs to another user";
    // Some file systems know no modes: a folder that was made here says enough.
    if ((found.mode & 0o077) !== 0 && !(await hasOriginMarker(dirname(path)))) return "other users can read it";
  }
  const lock = await readLock(path).catch(() => undefined);
  const original = lock && (await originalOf(path, lock.holder));
  if (original !== undefined) return `it is a copy of ${original}`;
  // Else what follows the host could lead elsewhere once a path is added.
  if (!URL.canParse(routerUrl) || new URL(routerUrl).origin !== routerUrl) return "it has no address";
  return isOnThisMachine(routerUrl) ? undefined : "it has the address of another machine";
}
