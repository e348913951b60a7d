import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { realTarget } from "../../files/real-path.ts";
import { CommandFailed } from "../failure.ts";
import type { Host } from "../host.ts";
import { stateFile } from "./run-file.ts";

/** Where the snapshots of a state lie, each in a file of its name (emulator/store/file/file-snapshot-store.ts). */
const folderOf = async (state: string): Promise<string> => `${await realTarget(state).catch(() => state)}.snapshots`;

const fileName = /^([A-Za-z0-9][A-Za-z0-9._-]{0,63})\.json$/;

/** The names of the snapshots of the state that this folder has, in order. */
export async function snapshotNames(host: Host): Promise<readonly string[]> {
  const files = await readdir(await folderOf(stateFile(host, undefined))).catch(() => []);
  const names = files.flatMap((file) => fileName.exec(file)?.[1] ?? []);
  return names.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
}

/**
 * The file that is meant: that of the snapshot of this name, of the state that this folder has; else the one at this path.
 * Fails where there is neither.
 */
export async function keptStateFile(named: string, host: Host): Promise<string> {
  const names = await snapshotNames(host);
  if (names.includes(named)) return join(await folderOf(stateFile(host, undefined)), `${named}.json`);
  const path = resolve(host.cwd, named);
  if (existsSync(path)) return path;
  const known = names.length > 0 ? `there are: ${names.join(", ")}` : "the state of this folder has none";
  throw new CommandFailed(
    "not-found",
    "no_such_snapshot",
    `No snapshot is called ${named} (${known}), and no file has that name.`,
    {
      hint:
        "Keep one with `svc emulator snapshot save NAME`, or name a file: of a state begun with --file STATE it is " +
        "STATE.snapshots/NAME.json; of a --store, what `svc emulator state export --output FILE` writes.",
    },
  );
}
