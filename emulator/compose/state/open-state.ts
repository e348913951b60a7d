import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { systemWallClock, type WallClock } from "../../../src/base/clock.ts";
import { pollEvery } from "../../../src/base/timing.ts";
import { type ClusterRow, clusterRows } from "../../domain/clusters.ts";
import type { RenewableIds } from "../../domain/renewable-ids.ts";
import type { Repair } from "../../published.d.ts";
import { releaseClaims } from "../../router/handlers.ts";
import type { Blobs, SnapshotStore } from "../../store/blobs.ts";
import { collectBlobs, openFileBlobs } from "../../store/file/blob-collection.ts";
import { getSnapshotFolder, openFileSnapshotStore } from "../../store/file/file-snapshot-store.ts";
import { explainUnusable, openFileStore } from "../../store/file/file-store.ts";
import { repairFile } from "../../store/file/recovery.ts";
import { claimRunFile, listRunFilePaths } from "../../store/file/run-file.ts";
import { readStoredState, resolveStatePath, uploadsFolder } from "../../store/file/stored-state.ts";
import { createMemoryBlobs, createMemorySnapshotStore, openMemoryStore } from "../../store/memory-store.ts";
import { type Moment, StateFormatError, type Store } from "../../store/port.ts";
import type { Leadership } from "../../store/postgres/leadership.ts";
import type { PostgresStoreOptions } from "../../store/postgres/open.ts";
import type { SnapshotHead } from "../../travel/snapshots.ts";
import type { StateSource } from "../state-source.ts";
import { collections } from "./collections.ts";
import { findHashes, findReferencedBlobs, readHistoryLines, readSnapshotTexts } from "./initial-state.ts";
import { applySeed, type Seed } from "./seed.ts";

export { StateLockedError } from "../../store/file/run-file.ts";
export { StateAccessError, StateFormatError } from "../../store/port.ts";

interface OpenedState {
  readonly store: Store;
  readonly blobs: Blobs;
  readonly snapshotStore: SnapshotStore;
  /** Clusters in the order of the seed. */
  readonly clusters: readonly ClusterRow[];
  /** Context of a state that several processes share. Undefined if this process owns it. */
  readonly leadership?: Leadership | undefined;
  /** Other fields of the document next to the state. Undefined if it did not start with a document. */
  readonly snapshotHead: SnapshotHead | undefined;
}

interface OpenStateOptions {
  /** Undefined for a state in a database or in memory. */
  readonly file: string | undefined;
  /** The database of a state in PostgreSQL, and this process as a candidate to lead. */
  readonly database?: DatabaseOptions | undefined;
  readonly seed: Seed;
  /** Whether the caller chose the seed and expects it to be used. */
  readonly isSeedChosen?: boolean;
  /** Whether the caller chose the virtual time of a new state. */
  readonly isStartChosen?: boolean;
  /** Whether this process continues what another one led, so that its options for a new state do not matter. */
  readonly isTakeover?: () => boolean;
  readonly ids: RenewableIds;
  readonly wall: WallClock;
  readonly report: (line: string) => void;
  readonly isHeld?: (() => Promise<boolean>) | undefined;
  readonly historyBytes?: number | undefined;
  readonly getMoment: () => Moment;
  readonly origin?: StateSource | undefined;
}

/** A database, and the role of this process among those that share it. */
export type DatabaseOptions = Pick<
  PostgresStoreOptions,
  "url" | "schema" | "candidate" | "signal" | "onLeaderChange" | "leaseMs" | "onLeading"
>;

export async function openState(options: OpenStateOptions): Promise<OpenedState> {
  const { origin } = options;
  if (origin) return openCopy(origin, options);
  const parts = await openParts(options);
  return initializeState(parts, options).catch(async (error) => {
    // After the close, a waiting process can lead.
    await parts.store.close().catch(() => {});
    throw error;
  });
}

/** Continues with the stored state, or starts with the seed. */
async function initializeState(parts: StateParts, options: OpenStateOptions): Promise<OpenedState> {
  const { seed, ids, wall, report } = options;
  const { store } = parts;
  const clusters = readClusters(store);
  if (clusters.length > 0) {
    reportUnusedOptions(options, clusters, "name another state with --file");
    await releaseClaims(store);
    ids.moveTo(await ids.startSequence(store));
    const findAllReferencedBlobs = async () =>
      new Set([...(await findReferencedBlobs(store)), ...(await findHashes(readSnapshotTexts(parts.snapshotStore)))]);
    await collect(() => parts.collect?.(findAllReferencedBlobs, wall), report);
    return { ...parts, clusters, snapshotHead: undefined };
  }
  await store.transaction("seed", (tx) => applySeed(tx, seed, ids));
  return { ...parts, clusters: readClusters(store), snapshotHead: undefined };
}

/** Reports chosen options of a new state. */
function reportUnusedOptions(options: OpenStateOptions, clusters: readonly ClusterRow[], nextStep: string): void {
  const { seed, isSeedChosen, isStartChosen, isTakeover, report } = options;
  if (isTakeover?.()) return;
  if (isSeedChosen) report(describeUnusedSeed(seed, clusters, nextStep));
  if (isStartChosen) report(unusedStart);
}

const unusedStart =
  "The start time was not used, because the state already exists. To start over at that time, run svc emulator reset.";

/** A reset changes no clusters, because their listeners are open. */
function describeUnusedSeed(seed: Seed, clusters: readonly ClusterRow[], nextStep: string): string {
  const isSame = seed.clusters.map(({ id }) => id).join() === clusters.map(({ id }) => id).join();
  const next = isSame
    ? "To start over with the seed, run svc emulator reset."
    : `The seed has other clusters: to use it, ${nextStep}.`;
  return `The seed was not used, because the state already exists. ${next}`;
}

/** The copy is in memory or in a file without a state. If it cannot be read, nothing is created. */
async function openCopy(origin: StateSource, options: OpenStateOptions): Promise<OpenedState> {
  const { file, ids, wall } = options;
  const { store: sourceStore, snapshotHead } = await origin.load(wall);
  const clusters = readClusters(sourceStore);
  if (clusters.length === 0) throw createCopyError("The initial state has no clusters");
  reportUnusedOptions(options, clusters, "start without --from");
  await releaseClaims(sourceStore);
  if (file && (await holdsState(file, wall)))
    throw createCopyError(`${file} already contains a state`, "Use another file, or continue this state");
  const isStored = file !== undefined || options.database !== undefined;
  const parts = isStored ? await openParts(options) : createMemoryParts(sourceStore, origin.uploads);
  const { store, blobs } = parts;
  if (options.database && readClusters(store).length > 0) {
    await store.close();
    const nextStep = "Use another one with the option schema, or continue this state";
    throw createCopyError("The store already contains a state", nextStep);
  }
  if (isStored) {
    for (const hash of await findReferencedBlobs(sourceStore)) {
      const bytes = await origin.uploads.open(hash);
      if (bytes) await blobs.put(bytes, Number.POSITIVE_INFINITY);
    }
    await store.replaceWith(sourceStore);
  }
  ids.moveTo(snapshotHead?.beside.ids ?? (await ids.startSequence(store)));
  return { ...parts, clusters, snapshotHead };
}

function createCopyError(problem: string, nextStep?: string): StateFormatError {
  const hint = nextStep === undefined ? "" : ` ${nextStep} without the option from.`;
  return new StateFormatError(`${problem}. Nothing was changed.${hint}`, { repairable: false });
}

/** Reports whether a file contains a state that is not empty. Fails with StateFormatError if it is damaged. */
async function holdsState(file: string, wall: WallClock): Promise<boolean> {
  if (!existsSync(file)) return false;
  const { store } = await readStoredState({ path: file, collections, wall });
  return readClusters(store).length > 0;
}

const defaultHistoryBytes = 256 * 2 ** 20;

interface StateParts extends Pick<OpenedState, "store" | "blobs" | "snapshotStore" | "leadership"> {
  /** Removes uploads that were unreferenced for long, before requests are served. Returns their number. */
  readonly collect?: (findReferencedBlobs: () => Promise<ReadonlySet<string>>, wall: WallClock) => Promise<number>;
}

const createMemoryParts = (store: Store, uploads?: Pick<Blobs, "open">): StateParts => ({
  store,
  blobs: createMemoryBlobs(uploads),
  snapshotStore: createMemorySnapshotStore(),
});

async function openParts({ file, database, ...options }: OpenStateOptions): Promise<StateParts> {
  const { historyBytes = defaultHistoryBytes } = options;
  if (database) {
    // The client of the leader session is not used by any other caller.
    const { openPostgresStore } = await import("../../store/postgres/open.ts");
    const parts = await openPostgresStore({ ...options, ...database, collections, historyBytes });
    return { ...parts, collect: (named) => parts.blobs.collect(named, findHashes) };
  }
  if (!file) return createMemoryParts(openMemoryStore({ collections, wall: options.wall }));
  const store = await openFileStore({ ...options, path: file, collections, historyBytes }).catch((error) =>
    explainUnusable(file, error),
  );
  const folder = join(dirname(file), uploadsFolder);
  return {
    store,
    blobs: await openFileBlobs({ folder }).catch(async (error) => {
      await store.close();
      return explainUnusable(folder, error);
    }),
    snapshotStore: await openFileSnapshotStore({ folder: getSnapshotFolder(file) }),
    async collect(findCurrentBlobs, wall) {
      const findReferencedBlobs = async () =>
        new Set([...(await findCurrentBlobs()), ...(await findHashes(readHistoryLines(file)))]);
      return (await collectBlobs({ path: file, folder, wall, findReferencedBlobs })).length;
    },
  };
}

/** Removes unreferenced uploads. A failure does not prevent the start. */
async function collect(work: () => Promise<number> | undefined, report: OpenStateOptions["report"]): Promise<void> {
  try {
    const count = (await work()) ?? 0;
    if (count > 0) report(`removed ${count} uploaded files that were unreferenced for 30 days`);
  } catch (error) {
    report(`unreferenced uploads could not be checked: ${(error as Error).message}`);
  }
}

const readClusters = (store: Store): readonly ClusterRow[] => store.list(clusterRows, { by: "position" });

/** Users may remove the files of a running emulator. */
export const fileCheckIntervalMs = 2_000;

/** Checks regularly whether users removed the files of the state. The returned function stops it after a last check. */
export function watchFiles(store: Store, wall: WallClock): () => Promise<void> {
  if (store.check === undefined) return async () => {};
  // A file that cannot be checked may exist.
  return pollEvery(wall, fileCheckIntervalMs, () => store.check!().catch(() => {}));
}

/**
 * Repairs a damaged state while no emulator uses it: everything before the damage is retained, and damaged files are
 * moved aside. Fails with StateLockedError if an emulator is running, with StateFormatError if there is nothing to
 * repair from, and with StateAccessError if the file system rejects the write.
 */
export async function repairState(path: string): Promise<Repair> {
  try {
    const state = await resolveStatePath(path);
    const paths = await listRunFilePaths(state, undefined);
    const claim = await claimRunFile({ paths, run: undefined, wall: systemWallClock });
    try {
      return await repairFile({ path: state, collections });
    } finally {
      await claim.release();
    }
  } catch (error) {
    return explainUnusable(path, error);
  }
}
