import { dirname, join } from "node:path";
import type { Wall } from "../../src/base/clock.ts";
import { releaseClaims } from "../router/claims.ts";
import type { Blobs } from "../store/blobs.ts";
import { collectBlobs } from "../store/file/blob-collection.ts";
import { openFileBlobs } from "../store/file/file-blobs.ts";
import { openFileStore } from "../store/file/file-store.ts";
import { explainUnusable } from "../store/file/unusable.ts";
import { memoryBlobs } from "../store/memory/memory-blobs.ts";
import { openMemoryStore } from "../store/memory/memory-store.ts";
import type { Store } from "../store/port.ts";
import { type ClusterRow, clusterRows } from "../world/clusters.ts";
import type { RenewableIds } from "../world/renewable-ids.ts";
import { collections } from "./collections.ts";
import { namedBlobs } from "./named-blobs.ts";
import { applySeed, type Seed } from "./seed.ts";

export interface State {
  readonly store: Store;
  readonly blobs: Blobs;
  /** In the order of the seed. */
  readonly clusters: readonly ClusterRow[];
}

interface Opening {
  /** Undefined: in memory. */
  readonly file: string | undefined;
  readonly seed: Seed;
  readonly ids: RenewableIds;
  readonly wall: Wall;
  readonly report: (line: string) => void;
}

/** Opens the state, and begins a new one with the seed. */
export async function openState({ file, seed, ids, wall, report }: Opening): Promise<State> {
  const store = file
    ? await openFileStore({ path: file, collections, wall, report }).catch((error) => explainUnusable(file, error))
    : openMemoryStore({ collections, wall });
  const folder = file && join(dirname(file), "files");
  const blobs = folder ? await openUploads(folder, store) : memoryBlobs();
  const known = await clustersOf(store);
  if (known.length > 0) {
    await releaseClaims(store);
    await ids.goOn(store);
    if (file && folder) await collect({ path: file, folder, wall, named: () => namedBlobs(store) }, report);
    return { store, blobs, clusters: known };
  }
  await store.transaction("seed", (tx) => applySeed(tx, seed, ids));
  return { store, blobs, clusters: await clustersOf(store) };
}

/** A start does not fail because something is left that is of no use. */
async function collect(collecting: Parameters<typeof collectBlobs>[0], report: Opening["report"]): Promise<void> {
  try {
    const { length } = await collectBlobs(collecting);
    if (length > 0) report(`removed ${length} uploaded files that nothing had named for 30 days`);
  } catch (error) {
    report(`uploaded files that nothing names could not be looked for: ${(error as Error).message}`);
  }
}

async function openUploads(folder: string, store: Store): Promise<Blobs> {
  try {
    return await openFileBlobs({ folder });
  } catch (error) {
    await store.close();
    return explainUnusable(folder, error);
  }
}

const clustersOf = (store: Store): Promise<readonly ClusterRow[]> =>
  store.read((view) => view.list(clusterRows, { by: "position" }));
