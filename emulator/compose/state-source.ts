import { dirname, join } from "node:path";
import type { WallClock } from "../../src/base/clock.ts";
import type { Blobs } from "../store/blobs.ts";
import { readBlobs } from "../store/file/blob-collection.ts";
import { parseSnapshotPath } from "../store/file/file-snapshot-store.ts";
import { readStoredState } from "../store/file/stored-state.ts";
import { openMemoryStore } from "../store/memory-store.ts";
import { type LoadedState, StateFormatError, type Store } from "../store/port.ts";
import { SnapshotHead } from "../travel/snapshots.ts";
import { collections } from "./state/collections.ts";

/** Contents that an emulator starts with instead of a seed. */
export interface StateSource {
  /** Loads the state into memory, with the fields of the snapshot next to it. Fails with StateFormatError. */
  load(wall: WallClock): Promise<{ readonly store: Store; readonly snapshotHead: SnapshotHead | undefined }>;
  readonly uploads: Pick<Blobs, "open">;
}

/** Opens the checksummed document of a snapshot, in blocks that end at the end of a line. */
export const openDocumentSource = (document: AsyncIterable<Buffer>, uploads: Pick<Blobs, "open">): StateSource => ({
  async load(wall) {
    return toLoadedSource(await openMemoryStore({ collections, wall }).load(document));
  },
  uploads,
});

/** Opens a snapshot, the state of an emulator, or an exported state. Its uploads are next to it. */
export const openFileSource = (path: string): StateSource => ({
  async load(wall) {
    const { store, snapshotHead } = toLoadedSource(await readStoredState({ path, collections, wall }));
    const [recordedName, pathName] = [snapshotHead?.snapshot.name, parseSnapshotPath(path)];
    if (recordedName !== undefined && pathName !== undefined && recordedName !== pathName) {
      const message = `${path} is the renamed snapshot ${recordedName}. Nothing was changed. Rename it back.`;
      throw new StateFormatError(message, { repairable: false });
    }
    return { store, snapshotHead };
  },
  uploads: readBlobs(join(parseSnapshotPath(path) === undefined ? dirname(path) : dirname(dirname(path)), "files")),
});

const toLoadedSource = ({ store, head }: LoadedState) => ({ store, snapshotHead: SnapshotHead.safeParse(head).data });
