import { type Stats, statSync } from "node:fs";
import { lstat, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { toFields } from "../../../base/object.ts";
import { resolveRealPath } from "../../../files/folders.ts";
import { findOriginal, readLock } from "../../../files/lock.ts";
import { isOnThisMachine } from "../../../files/machine.ts";
import { makeFolder } from "../../../files/make-folder.ts";
import { hasOriginMarker, markNewState } from "../../../files/origin-marker.ts";
import type { Output } from "../../output/output.ts";
import { CommandFailedError, UsageError } from "../../process/failure.ts";
import type { Host } from "../../process/host.ts";

/** The run file next to the state of a running emulator (DECISIONS.md, E3). */
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

/** Path of the run file of an emulator on that state: next to the file itself, whatever links lead to it. */
export const resolveRunFile = async (state: string): Promise<string> =>
  `${await resolveRealPath(state).catch(() => state)}.run`;

/**
 * The emulator in a run file; undefined if there is none, or it does not count: the file has to be this user's alone
 * and to name this machine, since it may have come with files of others. `isSameEmulator` checks whether
 * that emulator runs there.
 */
export async function readRunFile(path: string): Promise<RunningEmulator | undefined> {
  const running = await runFileAt(path);
  return running && (await whyDistrusted(path, running)) === undefined ? running : undefined;
}

/** The reason why an existing run file does not count; undefined if it does, or does not exist. */
export async function explainDistrust(path: string): Promise<string | undefined> {
  const running = await runFileAt(path);
  return running && whyDistrusted(path, running);
}

async function runFileAt(path: string): Promise<RunningEmulator | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    const { router_url: routerUrl, token, pid, instance_id: instanceId } = toFields(JSON.parse(text));
    return typeof routerUrl === "string" && typeof token === "string"
      ? { routerUrl, token, pid: Number(pid), instanceId: String(instanceId) }
      : undefined;
  } catch {
    // Half written: it is being created right now.
    return undefined;
  }
}

async function whyDistrusted(path: string, { routerUrl }: RunningEmulator): Promise<string | undefined> {
  const found = await lstat(path).catch(() => undefined);
  if (!found?.isFile()) return "it is not a regular file";
  if (process.getuid !== undefined) {
    if (found.uid !== process.getuid()) return "it belongs to another user";
    // Some file systems know no modes: a folder that was made here says enough.
    if ((found.mode & 0o077) !== 0 && !(await hasOriginMarker(dirname(path)))) return "other users can read it";
  }
  const lock = await readLock(path).catch(() => undefined);
  const original = lock && (await findOriginal(path, lock));
  if (original !== undefined) return `it is a copy of ${original}`;
  // Else what follows the host could lead elsewhere once a path is added.
  if (!URL.canParse(routerUrl) || new URL(routerUrl).origin !== routerUrl) return "it has no address";
  return isOnThisMachine(routerUrl) ? undefined : "it has the address of another machine";
}

/** Default path of the state of the emulator. */
const defaultStateFile = ".svc/emulator.json";

/** Default address of the router. */
export const defaultPort = 4010;

/**
 * The state in this folder or in the nearest one above it, as git finds its own. Folders of other users are skipped: a
 * state in a folder that everybody may write to would choose the target of our calls.
 */
export function findNearestState(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    const state = join(at, defaultStateFile);
    if (isOurs(state) || isOurs(`${state}.run`)) return state;
    if (at === dirname(at)) return undefined;
  }
}

/** A folder that cannot be examined is another user's, or broken. Windows shows no owners. */
function isOurs(path: string): boolean {
  const found = seen(path);
  const user = process.getuid?.();
  return found !== undefined && (user === undefined || found.uid === user);
}

function seen(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** The state's path, seen from a folder, where it lies above that; undefined: it does not. */
export function findPathAbove(folder: string, state: string): string | undefined {
  const path = relative(folder, state);
  return path.startsWith("..") ? path : undefined;
}

/** Reports, once, which state is used where it was found above this folder. */
export async function noteStateAbove({ cwd }: Host, output: Output, state: string, named: string | undefined) {
  const path = findPathAbove(cwd, state);
  if (named === undefined && path !== undefined) await noteOnce(output, `Using the emulator's state in ${path}`);
}

const told = new WeakMap<Output, Set<string>>();

/** A command may look up its services several times. `more` is printed with it. */
export async function noteOnce(output: Output, text: string, more = ""): Promise<void> {
  const already = told.get(output) ?? new Set();
  told.set(output, already);
  if (already.has(text)) return;
  already.add(text);
  await output.note(text + more);
}

/** The message about a state that was found in a folder which came from elsewhere, as with a clone. */
export const createUntrustedStateError = (state: string, hint: string): CommandFailedError =>
  new CommandFailedError("failed", "untrusted_state", `${dirname(state)} was not made by this user on this machine.`, {
    hint: `Its state may send webhooks and contain tokens of its author. ${hint}`,
  });

/** A `.svc` folder that is created for a state is one that git skips: its contents are secrets of this machine. */
export async function makeStateFolder(state: string): Promise<void> {
  const folder = dirname(state);
  if (basename(folder) !== dirname(defaultStateFile)) return;
  // The emulator reports errors of the folder.
  const made = await makeFolder(folder).catch(() => undefined);
  if (made !== undefined)
    await writeFile(join(folder, ".gitignore"), "*\n", { mode: 0o600, flag: "wx" }).catch(() => {});
  await markNewState(state);
}
