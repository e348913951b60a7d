import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isForeignState, resolveRealPath } from "../../../files/folders.ts";
import { isOnThisMachine } from "../../../files/machine.ts";
import { CommandFailedError } from "../../process/failure.ts";
import type { Host } from "../../process/host.ts";
import { readEnvironmentEmulator } from "../resolve-settings.ts";
import { createUntrustedStateError, readRunFileOf, resolveStateFile } from "./run-file.ts";

/** Returns the folder of a state's snapshots, with one file per name (emulator/store/file/file-snapshot-store.ts). */
const getSnapshotFolder = async (state: string): Promise<string> =>
  `${await resolveRealPath(state).catch(() => state)}.snapshots`;

const fileName = /^([A-Za-z0-9][A-Za-z0-9._-]{0,63})\.json$/;

export async function listSnapshotNames(host: Host): Promise<readonly string[]> {
  const files = await readdir(await getSnapshotFolder(resolveStateFile(host, undefined))).catch(() => []);
  const names = files.flatMap((file) => fileName.exec(file)?.[1] ?? []);
  return names.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
}

/**
 * Finds a snapshot by its name in this folder's state, by its path, or by its name in the reachable emulator. Fails
 * with exit code 5 if there is none.
 */
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
  const running = await findRunningSnapshot(name, host);
  if (running?.file) return running.file;
  if (running) throw createUnreachableError(name, running.url);
  const knownSnapshots =
    names.length > 0 ? `snapshots: ${names.join(", ")}` : "the state of this folder has no snapshots";
  throw createSnapshotError(
    `Snapshot or file ${name} not found (${knownSnapshots}).`,
    "Save one with `svc emulator snapshot save NAME`, or use a file: for a state of --file STATE, " +
      "STATE.snapshots/NAME.json; for a --store, the output of `svc emulator state export --output FILE`.",
  );
}

/** Finds the snapshot in the emulator of the environment or of this folder, with its file if this machine has it. */
async function findRunningSnapshot(snapshotName: string, host: Host) {
  const access = await import("./emulator-access.ts");
  const configuredEmulator = readEnvironmentEmulator(host);
  const runningHere = configuredEmulator
    ? undefined
    : await readRunFileOf(resolveStateFile(host, undefined), undefined);
  const url = configuredEmulator?.url.value ?? runningHere?.routerUrl;
  const token = configuredEmulator ? configuredEmulator.token?.value : runningHere?.token;
  if (url === undefined || (runningHere && !(await access.isSameEmulator(runningHere)))) return undefined;
  const { listSnapshots } = await import("../../../api/emulator/snapshots.ts");
  // An emulator that does not respond, or rejects the token, provides no snapshots.
  const snapshots = await access
    .withControlClient(url, token, (client) => client.call(listSnapshots, {}))
    .catch(() => []);
  const snapshot = snapshots.find(({ name }) => name === snapshotName);
  const file = snapshot?.file ?? undefined;
  const isReadable = file !== undefined && isOnThisMachine(url) && existsSync(file);
  return snapshot && { url, file: isReadable ? file : undefined };
}

const createUnreachableError = (name: string, url: string): CommandFailedError =>
  createSnapshotError(
    `Snapshot ${name} belongs to the emulator at ${url}, which stores it in no file of this machine. --from requires a file.`,
    `Restore it there and export the state to a file: \`svc emulator snapshot restore ${name}\`, ` +
      `\`svc emulator state export --output ${name}.json\`, then --from ${name}.json. ` +
      "The previous state is saved as before-1, before-2, …, and can be restored the same way.",
  );

const createSnapshotError = (message: string, hint: string): CommandFailedError =>
  new CommandFailedError("not-found", "no_such_snapshot", message, { hint });
