import { type Stats, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { makeFolder } from "../../files/make-folder.ts";
import { markNewState } from "../../files/origin-marker.ts";
import { CommandFailedError } from "../failure.ts";
import type { Host } from "../host.ts";
import type { Output } from "../output/output.ts";

/** Where the state of the emulator is kept when nothing else is said. */
export const defaultStateFile = ".svc/emulator.json";

/** Where the router listens when nothing else is said. */
export const defaultPort = 4010;

/**
 * The state in this folder or in the nearest one above it, as git finds its own. What belongs to somebody else is passed
 * over: a state in a folder that everybody may write to would choose where our calls go.
 */
export function findNearestState(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    const state = join(at, defaultStateFile);
    if (isOurs(state) || isOurs(`${state}.run`)) return state;
    if (at === dirname(at)) return undefined;
  }
}

/** What cannot be looked at is somebody else's, or broken. Windows tells no owners. */
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

/** Says, once, which state is used where it was found above this folder. */
export async function noteStateAbove({ cwd }: Host, output: Output, state: string, named: string | undefined) {
  const path = findPathAbove(cwd, state);
  if (named === undefined && path !== undefined) await noteOnce(output, `Using the emulator's state in ${path}`);
}

const told = new WeakMap<Output, Set<string>>();

/** A command may ask several times where its services are. `more` is said with it. */
export async function noteOnce(output: Output, text: string, more = ""): Promise<void> {
  const already = told.get(output) ?? new Set();
  told.set(output, already);
  if (already.has(text)) return;
  already.add(text);
  await output.note(text + more);
}

/** What is said of a state that was found in a folder which came from elsewhere, as with a clone. */
export const createUntrustedStateError = (state: string, hint: string): CommandFailedError =>
  new CommandFailedError("failed", "untrusted_state", `${dirname(state)} was not made by this user on this machine.`, {
    hint: `Its state may send webhooks and contain tokens of its author. ${hint}`,
  });

/** A `.svc` folder that is made for a state is one that git passes over: what lies in it is a secret of this machine. */
export async function makeStateFolder(state: string): Promise<void> {
  const folder = dirname(state);
  if (basename(folder) !== dirname(defaultStateFile)) return;
  // What is wrong with the place, the emulator says.
  const made = await makeFolder(folder).catch(() => undefined);
  if (made !== undefined)
    await writeFile(join(folder, ".gitignore"), "*\n", { mode: 0o600, flag: "wx" }).catch(() => {});
  await markNewState(state);
}
