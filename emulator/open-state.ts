import { dirname, join } from "node:path";
import type { Wall } from "../src/base/clock.ts";
import { type ClusterRow, clusterRows } from "./clusters.ts";
import { collections } from "./collections.ts";
import type { RenewableIds } from "./renewable-ids.ts";
import { releaseClaims } from "./router/claims.ts";
import { applySeed, type Seed } from "./seed.ts";
import type { Blobs } from "./store/blobs.ts";
import { openFileBlobs } from "./store/file-blobs.ts";
import { openFileStore } from "./store/file-store.ts";
import { memoryBlobs } from "./store/memory-blobs.ts";
import { openMemoryStore } from "./store/memory-store.ts";
import type { Store } from "./store/store.ts";
import { explainUnusable } from "./store/unusable.ts";

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
  const blobs = file ? await openUploads(file, store) : memoryBlobs();
  const known = await clustersOf(store);
  if (known.length > 0) {
    await releaseClaims(store);
    await ids.goOn(store);
    return { store, blobs, clusters: known };
  }
  await store.transaction("seed", (tx) => applySeed(tx, seed, ids));
  return { store, blobs, clusters: await clustersOf(store) };
}

async function openUploads(file: string, store: Store): Promise<Blobs> {
  try {
    return await openFileBlobs({ folder: join(dirname(file), "files") });
  } catch (error) {
    await store.close();
    return explainUnusable(file, error);
  }
}

const clustersOf = (store: Store): Promise<readonly ClusterRow[]> =>
  store.read((view) => view.list(clusterRows, { by: "position" }));
