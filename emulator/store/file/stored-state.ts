import { lstat, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { WallClock } from "../../../src/base/clock.ts";
import { type Disk, systemDisk } from "../../../src/files/disk.ts";
import { isMissing, resolveRealPath } from "../../../src/files/folders.ts";
import { readLines } from "../../../src/files/read-log.ts";
import { identifyFile } from "../journal/document.ts";
import { LiveStore } from "../live/live-store.ts";
import { State } from "../live/state.ts";
import { type Collection, type LoadedState, StateAccessError, StateFormatError } from "../port.ts";
import { getSnapshotFolder } from "./file-snapshot-store.ts";
import { getHistoryFolder } from "./history-files.ts";
import { recover } from "./recovery.ts";

interface ReadOptions {
  readonly path: string;
  readonly collections: readonly Collection[];
  readonly wall: WallClock;
  readonly disk?: Disk;
}

/**
 * Loads a state from any kind of file that contains a state, without changing it: a snapshot, the state of an emulator
 * with its journals, or an exported state. Fails with StateFormatError, which names the file, and with
 * StateAccessError.
 */
export async function readStoredState({
  path,
  collections,
  wall,
  disk = systemDisk,
}: ReadOptions): Promise<LoadedState> {
  const empty = new LiveStore({ state: new State(collections), wall });
  try {
    const kind = await identifyFile(disk, path);
    if (kind === "other") throw new StateFormatError("it is not an emulator state file");
    if (kind === "snapshot") return await empty.load(readLines(disk, path));
    if (kind === "exported")
      return { head: {}, store: empty.parseDocument(parseJson((await readFile(path)).toString("utf8"))) };
    return { head: {}, store: new LiveStore({ state: await readConsistentState(disk, path, collections), wall }) };
  } catch (cause) {
    if (isMissing(cause)) throw new StateFormatError(`File ${path} not found`, { cause, repairable: false });
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === "ERR_STRING_TOO_LONG" || code === "ERR_FS_FILE_TOO_LARGE") {
      const problem = `${path} is too large for an exported state (limit: 512 MiB). Nothing was changed.`;
      const message = `${problem} Use a snapshot, or the state file of the emulator, which can be larger.`;
      throw new StateFormatError(message, { cause, repairable: false });
    }
    if (typeof code === "string")
      throw new StateAccessError(`${path} cannot be read: ${code === "EISDIR" ? "it is a folder" : code}`, { cause });
    if (!(cause instanceof StateFormatError)) throw cause;
    const description = message.startsWith(path) ? message : `${path}: ${message}`;
    throw new StateFormatError(`${description}. Nothing was changed.`, { cause, repairable: false });
  }
}

const maxAttempts = 3;

/**
 * Reads the durable part of a state that a running emulator may be writing. If files disappear meanwhile, it reads
 * again.
 */
async function readConsistentState(
  disk: Disk,
  path: string,
  collections: readonly Collection[],
  attempt = 1,
): Promise<State> {
  try {
    return (await recover(disk, path, collections)).state;
  } catch (cause) {
    if (attempt === maxAttempts || !(cause instanceof StateFormatError || isMissing(cause))) throw cause;
    return readConsistentState(disk, path, collections, attempt + 1);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new StateFormatError("it is not a complete JSON document", { cause });
  }
}

/**
 * Resolves the links in the path of a state. Rejects with StateAccessError if it is a pipe or a device, which a repair
 * would move aside, or if a folder next to it is a link, because a link in a clone leads where its author decides.
 */
export async function resolveStatePath(path: string): Promise<string> {
  const real = await resolveRealPath(path);
  const stats = await stat(real).catch(() => undefined);
  if (stats && !stats.isFile() && !stats.isDirectory()) {
    throw new StateAccessError(
      `The state ${path} cannot be opened: it is a pipe or a device. Choose a file with the option file.`,
    );
  }
  for (const folder of [join(dirname(real), uploadsFolder), getSnapshotFolder(real), getHistoryFolder(real)]) {
    if (!(await lstat(folder).catch(() => undefined))?.isSymbolicLink()) continue;
    throw new StateAccessError(
      `The state ${path} cannot be opened: ${folder} is a symbolic link. Remove the link, or choose a file in another folder with the option file.`,
    );
  }
  return real;
}

/** Folder of the uploads, next to the state. */
export const uploadsFolder = "files";
