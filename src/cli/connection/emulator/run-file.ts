import { type Stats, statSync } from "node:fs";
import { lstat, readdir, readFile, rm, rmdir } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { memoize, toFields, tryParseJson } from "../../../base/object.ts";
import { formatFsError, isFsError } from "../../../files/disk.ts";
import {
  excludeFromGit,
  gitignoreFile,
  hasOriginMarker,
  isInStateFolder,
  makeFolder,
  markNewState,
  originFile,
  resolveRealPath,
} from "../../../files/folders.ts";
import { checkHolder, findOriginal, type LockHolder, readLock } from "../../../files/lock.ts";
import { identifyMachine, isOnThisMachine } from "../../../files/machine.ts";
import type { Output } from "../../output/output.ts";
import { CommandFailedError, UsageError } from "../../process/failure.ts";
import type { Host } from "../../process/host.ts";

/** Run file next to the state of a running emulator (DECISIONS.md, E3). */
export interface RunningEmulator {
  readonly routerUrl: string;
  readonly token: string;
  readonly pid: number;
  readonly instanceId: string;
  readonly isInMemory: boolean;
  /** PostgreSQL URL of the state, if it is not in a file or in memory. */
  readonly store: string | undefined;
}

/** Resolves the named state, or the nearest here and above, or a new one here. Throws UsageError for a folder. */
export function resolveStateFile(host: Host, file: string | undefined): string {
  if (file === undefined) return findNearestState(host.cwd) ?? getOwnStateFile(host);
  const path = resolve(host.cwd, file);
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path;
  throw new UsageError(`--file: ${file} is a folder, not a file`, {
    hint: `Did you mean ${join(file, "emulator.json")}?`,
  });
}

/** Returns the path of a state's run file. The run file is next to the state file, with links resolved. */
export const resolveRunFile = async (state: string): Promise<string> =>
  `${await resolveRealPath(state).catch(() => state)}.run`;

/** Contents of a run file. Only `running` emulators may get requests. `distrusted` says why the file is ignored. */
type RunFileContent =
  | { readonly status: "missing" }
  | { readonly status: "running" | "ended"; readonly running: RunningEmulator }
  | { readonly status: "distrusted"; readonly reason: string };

export type StateRunFile = RunFileContent & { readonly path: string };

/**
 * Reads a run file. Only this user may have access to it, and a process that runs on this machine must have written it,
 * because the file can be part of a clone or be a copy (DECISIONS.md, E21). `isSameEmulator` checks the address.
 */
async function inspectRunFile(path: string, foreignFolder?: string): Promise<RunFileContent> {
  let stats: Stats;
  let running: RunningEmulator | undefined;
  try {
    stats = await lstat(path);
    if (!stats.isFile()) return { status: "distrusted", reason: "it is not a regular file" };
    running = parseRunFile(await readFile(path, "utf8"));
  } catch (error) {
    if (!isFsError(error) || (error as NodeJS.ErrnoException).code === "ENOENT") return { status: "missing" };
    return { status: "distrusted", reason: `it cannot be read: ${formatFsError(error)}` };
  }
  if (!running) return { status: "missing" };
  const holder = await readLock(path).catch(() => undefined);
  const original = holder && (await findOriginal(path, holder));
  const reason = (await findDistrustReason(path, stats, running)) ?? (original && `it is a copy of ${original}`);
  if (reason !== undefined) return { status: "distrusted", reason };
  if (foreignFolder !== undefined)
    return { status: "distrusted", reason: `${foreignFolder} was not made by this user on this machine` };
  const proof = holder ? await checkOwnHolder(path, holder) : "unproven";
  if (proof === "unproven" && !(lacksProofs && (await hasOriginMarker(dirname(path)))))
    return { status: "distrusted", reason: "no emulator that runs on this machine wrote it" };
  return { status: proof === "ended" ? "ended" : "running", running };
}

/**
 * Reports whether a process that runs on this machine wrote a run file, which may have been copied or cloned. The proof
 * is a socket next to the file on which the holder listens, or the boot ID, which no file of another machine contains.
 * `unproven` means that the file contains neither.
 */
async function checkOwnHolder(file: string, holder: LockHolder): Promise<"running" | "ended" | "unproven"> {
  const life = await checkHolder(holder, file);
  if (life === "gone") return "ended";
  const { boot } = await identifyMachine();
  return life === "alive" || (boot !== undefined && holder.boot === boot) ? "running" : "unproven";
}

/** Windows has neither the sockets nor the boot ID of `checkOwnHolder`. */
const lacksProofs = process.platform === "win32";

export async function readRunFile(path: string): Promise<RunningEmulator | undefined> {
  const content = await inspectRunFile(path);
  return content.status === "running" ? content.running : undefined;
}

/**
 * Reads the run file of a state. A state that was found, not named by --file, must be in a folder that this user
 * created on this machine, as for `svc emulator start`.
 */
export async function inspectRunFileOf(state: string, file: string | undefined): Promise<StateRunFile> {
  const path = await resolveRunFile(state);
  const isForeign = file === undefined && isInStateFolder(state) && !(await hasOriginMarker(dirname(state)));
  return { ...(await inspectRunFile(path, isForeign ? dirname(state) : undefined)), path };
}

export async function readRunFileOf(state: string, file: string | undefined): Promise<RunningEmulator | undefined> {
  const content = await inspectRunFileOf(state, file);
  return content.status === "running" ? content.running : undefined;
}

/** Returns undefined for a file that is being written, and therefore incomplete. */
function parseRunFile(text: string): RunningEmulator | undefined {
  const { router_url: routerUrl, token, pid, instance_id, in_memory, store } = toFields(tryParseJson(text));
  if (typeof routerUrl !== "string" || typeof token !== "string") return undefined;
  return {
    ...{ routerUrl, token, pid: Number(pid), instanceId: String(instance_id) },
    isInMemory: in_memory === true,
    store: typeof store === "string" ? store : undefined,
  };
}

async function findDistrustReason(path: string, stats: Stats, { routerUrl }: RunningEmulator) {
  if (process.getuid !== undefined) {
    if (stats.uid !== process.getuid()) return "it belongs to another user";
    // Some file systems have no modes. A folder that was created here is sufficient.
    if ((stats.mode & 0o077) !== 0 && !(await hasOriginMarker(dirname(path)))) return "other users can read it";
  }
  // If the URL had a path or query, appended paths could lead to another resource.
  if (!URL.canParse(routerUrl) || new URL(routerUrl).origin !== routerUrl) return "it has no address";
  return isOnThisMachine(routerUrl) ? undefined : "it has the address of another machine";
}

/** An emulator in memory belongs to its own folder, also below the folder of another emulator. */
export const getOwnStateFile = ({ cwd }: Pick<Host, "cwd">): string => resolve(cwd, defaultStateFile);

const defaultStateFile = ".svc/emulator.json";

export const defaultPort = 4010;

/**
 * Finds the state in this folder or its nearest parent, as git does. Skips folders of other users, because a state in a
 * world-writable folder would choose the target of requests.
 */
export function findNearestState(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    const state = join(at, defaultStateFile);
    if (isOurs(state) || isOurs(`${state}.run`)) return state;
    if (at === dirname(at)) return undefined;
  }
}

/** A folder that cannot be inspected belongs to another user or is broken. Windows reports no owners. */
function isOurs(path: string): boolean {
  const user = process.getuid?.();
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats !== undefined && (user === undefined || stats.uid === user);
  } catch {
    return false;
  }
}

/** Describes the state of an emulator for users: its store, its path from this folder, or that there is no file. */
export const describeState = (
  { cwd }: Pick<Host, "cwd">,
  state: string,
  { isInMemory, store }: Pick<RunningEmulator, "isInMemory" | "store">,
): string => (isInMemory ? "state in memory" : `state: ${store ?? relative(cwd, state)}`);

/** Reports once which state is used, if it was found in a parent folder. */
export async function reportParentState({ cwd }: Host, output: Output, state: string, file: string | undefined) {
  const path = relative(cwd, state);
  if (file === undefined && path.startsWith(".."))
    await printOnce(output, "note", `Using the emulator's state in ${path}`);
}

const getPrintedTexts = memoize((_output: Output) => new Set<string>());

/** Prints a note or a warning once per run, because a command can look up its services several times. */
export async function printOnce(output: Output, kind: "note" | "warn", text: string, hint = ""): Promise<void> {
  const printedTexts = getPrintedTexts(output);
  if (printedTexts.has(text)) return;
  printedTexts.add(text);
  await output[kind](text + hint);
}

/** Error for a state in a folder of another origin, such as a clone (DECISIONS.md, E21). */
export const createUntrustedStateError = (
  state: string,
  hint = "Use it with svc emulator start --detach --trust-state.",
): CommandFailedError =>
  new CommandFailedError("failed", "untrusted_state", `${dirname(state)} was not made by this user on this machine.`, {
    hint: `Its state may send webhooks and contain tokens of its author. ${hint}`,
  });

/**
 * Creates the folder of a state. git ignores a `.svc` folder, because its contents are secrets of this machine. Returns
 * a function for a failed start. The function removes the created folders, unless they contain other files by then.
 */
export async function makeStateFolder(state: string): Promise<() => Promise<void>> {
  const folder = dirname(state);
  const isOurs = basename(folder) === dirname(defaultStateFile);
  const topmost = await makeFolder(folder).catch(() => undefined);
  const createdNames: string[] = [];
  if (isOurs && topmost !== undefined) {
    await excludeFromGit(folder);
    createdNames.push(gitignoreFile);
  }
  if (isOurs && !(await hasOriginMarker(folder)) && (await markNewState(state))) createdNames.push(originFile);
  return async () => {
    const otherNames = (await readdir(folder).catch(() => [])).filter((name) => !createdNames.includes(name));
    if (topmost === undefined ? otherNames.some((name) => name.startsWith(basename(state))) : otherNames.length > 0)
      return;
    for (const name of createdNames) await rm(join(folder, name), { force: true });
    if (topmost === undefined) return;
    // `rmdir` does not remove a folder with other files.
    for (let at = folder; at.length >= topmost.length; at = dirname(at)) await rmdir(at).catch(() => {});
  };
}
