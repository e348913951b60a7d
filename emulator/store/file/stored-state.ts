import { lstat, readFile, stat } from "node:fs/promises";
import type { WallClock } from "../../../src/base/clock.ts";
import { type Disk, isMissing, readBeginning, systemDisk } from "../../../src/files/disk.ts";
import { resolveRealPath } from "../../../src/files/folders.ts";
import { readLines } from "../../../src/files/read-log.ts";
import { LiveStore } from "../live/live-store.ts";
import { State } from "../live/state.ts";
import { type Collection, type LoadedState, StateAccessError, StateFormatError } from "../port.ts";
import { isExported } from "./document.ts";
import { recover } from "./recovery.ts";

interface ReadOptions {
  readonly path: string;
  readonly collections: readonly Collection[];
  readonly wall: WallClock;
  readonly disk?: Disk;
}

/**
 * Loads a state from any kind of file that holds one, without changing it: a snapshot, the state of an emulator with
 * its journals, or an exported state. Fails with StateFormatError, which names the file, and with StateAccessError.
 */
export async function readStoredState({
  path,
  collections,
  wall,
  disk = systemDisk,
}: ReadOptions): Promise<LoadedState> {
  const empty = new LiveStore({ state: new State(collections), wall });
  try {
    const first = await readBeginning(disk, path, 8_192);
    if (await isExported(disk, path))
      return { head: {}, store: empty.parseDocument(parseJson(await readFile(path, "utf8"))) };
    if (!/^\{\n"svc_state": \d+,\n/.test(first)) throw new StateFormatError("it is not an emulator state file");
    if (!/^"snapshot": /m.test(first)) {
      return { head: {}, store: new LiveStore({ state: await readUnmoved(disk, path, collections), wall }) };
    }
    return await empty.load(readLines(disk, path));
  } catch (cause) {
    if (isMissing(cause)) throw new StateFormatError(`File ${path} not found`, { cause, repairable: false });
    const { code, message } = cause as NodeJS.ErrnoException;
    if (typeof code === "string")
      throw new StateAccessError(`${path} cannot be read: ${code === "EISDIR" ? "it is a folder" : code}`, { cause });
    if (!(cause instanceof StateFormatError)) throw cause;
    const which = message.startsWith(path) ? message : `${path}: ${message}`;
    throw new StateFormatError(`${which}. Nothing was changed.`, { cause, repairable: false });
  }
}

const attempts = 3;

/**
 * Reads the durable part of a state that a running emulator may be writing. If files disappear meanwhile, it reads
 * again.
 */
async function readUnmoved(disk: Disk, path: string, collections: readonly Collection[], attempt = 1): Promise<State> {
  try {
    return (await recover(disk, path, collections)).state;
  } catch (cause) {
    if (attempt === attempts || !(cause instanceof StateFormatError || isMissing(cause))) throw cause;
    return readUnmoved(disk, path, collections, attempt + 1);
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
 * Resolves the links in the path of a state. Rejects with StateAccessError if it is a pipe or a device,
 * which a repair would move aside.
 */
export async function resolveStatePath(path: string): Promise<string> {
  const real = await resolveRealPath(path);
  const found = await stat(real).catch(() => undefined);
  if (found && !found.isFile() && !found.isDirectory()) {
    throw new StateAccessError(
      `The state ${path} cannot be opened: it is a pipe or a device. Choose a file with the option file.`,
    );
  }
  return real;
}

/** The files of a running emulator are missing, or other files have their names. */
interface FileTampering {
  readonly path: string;
  readonly isGone: boolean;
}

/** Remembers the identity of the files of a state on the disk, to detect that one was removed or replaced. */
export class FileIdentityWatch {
  #known = new Map<string, string>();

  /**
   * Checks all files by their names. A file that is checked for the first time is accepted. The file named `unchanging`
   * is also compared by time and size, because a copy that is written over it keeps its inode.
   */
  async check(files: Readonly<Record<string, string>>, unchanging: string): Promise<FileTampering | undefined> {
    const found = new Map<string, string>();
    for (const [name, path] of Object.entries(files)) {
      const identity = await readIdentity(path, name === unchanging);
      if (identity === undefined) return { path, isGone: true };
      if (identity !== (this.#known.get(name) ?? identity)) return { path, isGone: false };
      found.set(name, identity);
    }
    this.#known = found;
    return undefined;
  }
}

async function readIdentity(path: string, isUnchanging: boolean): Promise<string | undefined> {
  try {
    const { dev, ino, size, mtimeMs } = await lstat(path);
    return isUnchanging ? `${dev}:${ino}:${size}:${mtimeMs}` : `${dev}:${ino}`;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
