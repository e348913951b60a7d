import { statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fieldsOf } from "../../base/object.ts";
import { realTarget } from "../../files/real-path.ts";
import { UsageError } from "../failure.ts";
import type { Host } from "../host.ts";
import { defaultStateFile, nearestState } from "./state-folder.ts";

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
  if (file === undefined) return nearestState(host.cwd) ?? resolve(host.cwd, defaultStateFile);
  const named = resolve(host.cwd, file);
  if (!statSync(named, { throwIfNoEntry: false })?.isDirectory()) return named;
  throw new UsageError(`--file: ${file} is a folder, not a file`, { hint: `Is it ${join(file, "emulator.json")}?` });
}

/** Where an emulator on that state writes what it tells: beside the file itself, whatever links lead to it. */
export const runFileOf = async (state: string): Promise<string> => `${await realTarget(state).catch(() => state)}.run`;

/** The emulator that runs on a state file, as its run file tells; undefined when there is none. */
export async function readRunFile(path: string): Promise<RunningEmulator | undefined> {
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
