import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, toIsoSeconds, type WallClock } from "../../../src/base/clock.ts";
import { ignoreMissing, systemDisk } from "../../../src/files/disk.ts";
import { readLines } from "../../../src/files/read-log.ts";
import { clockState, type VirtualClock } from "../../clock/virtual-clock.ts";
import { contracts } from "../../cluster/contracts/rows.ts";
import { accessTokenLifetimeSeconds } from "../../cluster/identity/grants.ts";
import { signingKeys } from "../../cluster/identity/signing-keys.ts";
import { storedObjects } from "../../cluster/storage/storage.ts";
import { readConnectedApps } from "../../domain/apps.ts";
import { clusterRows } from "../../domain/clusters.ts";
import type { RenewableIds } from "../../domain/renewable-ids.ts";
import type { EmulatorSettings } from "../../domain/settings.ts";
import { workspaces } from "../../domain/workspaces.ts";
import type { SnapshotStore } from "../../store/blobs.ts";
import { getHistoryFolder } from "../../store/file/history-files.ts";
import type { AnyRows, Rows, Store, Transaction, View } from "../../store/port.ts";
import { applySeed, type Seed } from "./seed.ts";

interface InitialStateOptions {
  readonly store: Store;
  readonly seed: Seed;
  readonly ids: RenewableIds;
  readonly settings: Pick<EmulatorSettings, "deterministic">;
  readonly clock: VirtualClock;
  /** The virtual time at which the new state starts, in milliseconds. */
  readonly at: number;
}

/** Writes the seed into an empty state, with the keys and secrets that were created at the start. */
export function createSeedWriter(options: InitialStateOptions): (tx: Transaction) => void {
  const { store, ids, settings, clock, at } = options;
  // With --deterministic, the same keys are drawn again, because later draws depend on it.
  const seed = settings.deterministic ? options.seed : retainKeys(store, options.seed);
  return (tx) => {
    ids.restart();
    applySeed(tx, seed, ids);
    tx.put(clockState, clock.createStateAt(at));
  };
}

/** Returns a seed with the generated keys and secrets of the present state, which programs keep using after a reset. */
function retainKeys(view: View, seed: Seed): Seed {
  const clusters = new Map(view.list(clusterRows).map((row) => [row.id, row]));
  const existingWorkspaces = new Map(view.list(workspaces).map((row) => [row.id, row]));
  const apps = readConnectedApps(view);
  const seededClusterIds = new Set(seed.signing_keys.map((row) => row.cluster_id));
  return {
    ...seed,
    clusters: seed.clusters.map((cluster) => ({ key: clusters.get(cluster.id)?.key, ...cluster })),
    workspaces: seed.workspaces.map((workspace) => {
      const { client_id, client_secret, hmac_key } = existingWorkspaces.get(workspace.id) ?? {};
      return { client_id, client_secret, hmac_key, ...workspace };
    }),
    signing_keys: [
      ...seed.signing_keys,
      ...view.list(signingKeys).filter((row) => clusters.has(row.cluster_id) && !seededClusterIds.has(row.cluster_id)),
    ],
    apps: {
      ...seed.apps,
      chat_b: { app_id: apps.chat_b.app_id, ...seed.apps.chat_b },
      crm_a: { client_secret: apps.crm_a.client_secret, ...seed.apps.crm_a },
      crm_b: { consumer_secret: apps.crm_b.consumer_secret, ...seed.apps.crm_b },
      billing: { password: apps.billing.password, ...seed.apps.billing },
      captcha: { captcha_token: apps.captcha.captcha_token, ...seed.apps.captcha },
    },
  };
}

/**
 * Returns a warning if virtual time is so far behind the wall clock that clients which check tokens by their own clock
 * consider every token expired (DECISIONS.md, P7). A clock that is ahead does no harm, because tokens have no `nbf`.
 */
export function formatStaleTimeWarning(clock: Clock, wall: WallClock): string | undefined {
  const now = clock.now();
  if (wall.now() - now <= accessTokenLifetimeSeconds * 1_000) return undefined;
  return (
    `virtual time is ${toIsoSeconds(now)}, behind this machine's. Other programs treat the emulator's tokens as expired. ` +
    `Run \`svc emulator clock advance --to ${toIsoSeconds(wall.now())}\``
  );
}

/** The collections whose rows refer to uploaded bytes. A test searches all schemas for `sha256`. */
export const blobCollections: readonly AnyRows[] = [contracts, storedObjects];

export async function findReferencedBlobs(store: Store): Promise<ReadonlySet<string>> {
  const rows = blobCollections.flatMap((collection) => store.list(collection as Rows<object>));
  return findHashes(formatRows(rows));
}

function* formatRows(rows: readonly object[]): Generator<string, void> {
  for (const row of rows) yield JSON.stringify(row);
}

/**
 * Yields the text of all snapshots up to their mappings, which refer to no uploads and can be long. Snapshots are read
 * as text, so that the uploads of damaged snapshots, and of snapshots of other versions, are also retained.
 */
export async function* readSnapshotTexts(snapshotStore: SnapshotStore): AsyncGenerator<string, void> {
  for (const { name } of await snapshotStore.list()) {
    for await (const block of (await snapshotStore.open(name)) ?? []) {
      const text = block.toString("latin1");
      yield text;
      if (text.includes('\n"mappings": {\n')) break;
    }
  }
}

export async function* readHistoryLines(statePath: string): AsyncGenerator<string, void> {
  const folder = getHistoryFolder(statePath);
  for (const name of (await readdir(folder).catch(ignoreMissing)) ?? []) {
    for await (const bytes of readLines(systemDisk, join(folder, name))) yield bytes.toString("latin1");
  }
}

/** Returns every `sha256` in JSON text, at any depth, because a missed reference would delete a user's document. */
export async function findHashes(texts: Iterable<string> | AsyncIterable<string>): Promise<ReadonlySet<string>> {
  const hashes = new Set<string>();
  for await (const text of texts) for (const [, hash] of text.matchAll(/"sha256":"([0-9a-f]{64})"/g)) hashes.add(hash!);
  return hashes;
}
