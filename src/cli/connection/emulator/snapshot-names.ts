import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isForeignState, resolveRealPath } from "../../../files/folders.ts";
import { CommandFailedError } from "../../process/failure.ts";
import type { Host } from "../../process/host.ts";
import { createUntrustedStateError, resolveStateFile } from "./run-file.ts";

/** Returns the folder of a state's snapshots, with one file per name (emulator/store/file/file-snapshot-store.ts). */
const getSnapshotFolder = async (state: string): Promise<string> =>
  `${await resolveRealPath(state).catch(() => state)}.snapshots`;

const fileName = /^([A-Za-z0-9][A-Za-z0-9._-]{0,63})\.json$/;

export async function listSnapshotNames(host: Host): Promise<readonly string[]> {
  const files = await readdir(await getSnapshotFolder(resolveStateFile(host, undefined))).catch(() => []);
  const names = files.flatMap((file) => fileName.exec(file)?.[1] ?? []);
  return names.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
}

/** Finds a snapshot by its name in this folder's state, or by its path. Fails with exit code 5 if there is none. */
export async function resolveSnapshotFile(name: string, host: Host): Promise<string> {
  const names = await listSnapshotNames(host);
  if (names.includes(name)) {
    const state = resolveStateFile(host, undefined);
    const path = join(await getSnapshotFolder(state), `${name}.json`);
    if (await isForeignState(state))
      throw createUntrustedStateError(state, `To use the file of a snapshot that you trust: --from ${path}.`);
    return path;
  }
  const path = resolve(host.cwd, name);
  if (existsSync(path)) return path;
  const knownSnapshots =
    names.length > 0 ? `snapshots: ${names.join(", ")}` : "the state of this folder has no snapshots";
  const message = `Snapshot or file ${name} not found (${knownSnapshots}).`;
  throw new CommandFailedError("not-found", "no_such_snapshot", message, {
    hint:
      "Save one with `svc emulator snapshot save NAME`, or use a file: for a state of --file STATE, " +
      "STATE.snapshots/NAME.json; for a state in memory or in a --store, restore the snapshot and use the output of " +
      "`svc emulator state export --output FILE`.",
  });
}
