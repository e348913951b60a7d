import { readFile } from "node:fs/promises";
import type { Wall } from "../../../src/base/clock.ts";
import { type Disk, isMissing, systemDisk } from "../../../src/files/disk.ts";
import { readLines } from "../../../src/files/read-lines.ts";
import { LiveStore } from "../live/live-store.ts";
import { State } from "../live/state.ts";
import { type Collection, type LoadedState, StateRefused, StateUnusable } from "../port.ts";
import { isExported } from "./exported.ts";
import { recover } from "./recovery.ts";

interface Reading {
  readonly path: string;
  readonly collections: readonly Collection[];
  readonly wall: Wall;
  readonly disk?: Disk;
}

/**
 * A state from a file of any kind that holds one, which stays as it is: a snapshot, the state of an emulator with its
 * journals, or an exported state. Fails with StateRefused, which names the file, and with StateUnusable.
 */
export async function readKeptState({ path, collections, wall, disk = systemDisk }: Reading): Promise<LoadedState> {
  const empty = () => new LiveStore({ state: new State(collections), wall });
  try {
    const first = await firstBlock(disk, path);
    if (await isExported(disk, path)) {
      const store = empty();
      await store.replace(parsed(await readFile(path, "utf8")));
      return { head: {}, store };
    }
    if (!/^\{\n"svc_state": \d+,\n/.test(first)) throw new StateRefused("no state that svc has kept begins so");
    if (!/^"snapshot": /m.test(first)) {
      return { head: {}, store: new LiveStore({ state: await unmoved(disk, path, collections), wall }) };
    }
    return await empty().load(blocksOf(disk, path));
  } catch (cause) {
    if (isMissing(cause)) throw new StateRefused(`There is no file ${path}`, { cause, repairable: false });
    const { code, message } = cause as NodeJS.ErrnoException;
    if (typeof code === "string")
      throw new StateUnusable(`${path} cannot be read: ${code === "EISDIR" ? "it is a folder" : code}`, { cause });
    if (!(cause instanceof StateRefused)) throw cause;
    const which = message.startsWith(path) ? message : `${path}: ${message}`;
    throw new StateRefused(`${which}. Nothing was changed.`, { cause, repairable: false });
  }
}

/** How often a state is read whose files another process changes meanwhile. */
const attempts = 3;

/** What is durable of a state that an emulator may be working on: where files went while they were read, it reads again. */
async function unmoved(disk: Disk, path: string, collections: readonly Collection[], attempt = 1): Promise<State> {
  try {
    return (await recover(disk, path, collections)).state;
  } catch (cause) {
    if (attempt === attempts || !(cause instanceof StateRefused || isMissing(cause))) throw cause;
    return unmoved(disk, path, collections, attempt + 1);
  }
}

async function firstBlock(disk: Disk, path: string): Promise<string> {
  for await (const { bytes } of readLines(disk, path)) return bytes.toString("utf8", 0, 8_192);
  return "";
}

async function* blocksOf(disk: Disk, path: string): AsyncGenerator<Uint8Array, void> {
  for await (const { bytes } of readLines(disk, path)) yield bytes;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new StateRefused("it is no whole JSON document", { cause });
  }
}
