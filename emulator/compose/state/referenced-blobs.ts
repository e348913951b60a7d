import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { systemDisk } from "../../../src/files/disk.ts";
import { readLines } from "../../../src/files/read-lines.ts";
import { contracts } from "../../cluster/contracts/rows.ts";
import { storedObjects } from "../../cluster/storage/objects.ts";
import { historyFolder } from "../../store/file/history/history-files.ts";
import type { AnyRows, Store } from "../../store/port.ts";
import type { SnapshotStore } from "../../store/snapshot-store.ts";

/** The collections whose rows refer to uploaded bytes. A test looks for `sha256` in the schemas of all. */
export const blobCollections = [contracts, storedObjects] as const satisfies readonly AnyRows[];

/** The hashes of all uploaded bytes that a row of the state names. */
export async function referencedBlobs(store: Store): Promise<ReadonlySet<string>> {
  const named = new Set<string>();
  await store.read(async (view) => {
    for (const row of await view.list(contracts)) addHashes(row, named);
    for (const row of await view.list(storedObjects)) addHashes(row, named);
  });
  return named;
}

/**
 * The hashes of all uploaded bytes that a snapshot names. Read as text, so that one which is damaged or of another
 * version still keeps them.
 */
export async function referencedBlobsOfSnapshots(snapshotStore: SnapshotStore): Promise<ReadonlySet<string>> {
  const named = new Set<string>();
  for (const { name } of await snapshotStore.list()) {
    for await (const block of (await snapshotStore.open(name)) ?? []) {
      const text = Buffer.from(block).toString("latin1");
      for (const [, hash] of text.matchAll(/"sha256":"([0-9a-f]{64})"/g)) named.add(hash!);
      // What comes then names nothing, and may be long.
      if (text.includes('\n"mappings": {\n')) break;
    }
  }
  return named;
}

/** The texts of the history of a state in a file. */
export async function* readHistoryLines(statePath: string): AsyncGenerator<string, void> {
  const folder = historyFolder(statePath);
  for (const name of await readdir(folder).catch(() => [])) {
    for await (const { bytes } of readLines(systemDisk, join(folder, name))) yield bytes.toString("latin1");
  }
}

/** The hashes of all uploaded bytes that a history may name: whatever looks like one in its texts. */
export async function referencedBlobsOfHistory(texts: AsyncIterable<string>): Promise<ReadonlySet<string>> {
  const named = new Set<string>();
  for await (const text of texts) for (const [, hash] of text.matchAll(/"([0-9a-f]{64})"/g)) named.add(hash!);
  return named;
}

/** Adds every `sha256` within a row, wherever it stands: a place that was forgotten would cost somebody's document. */
function addHashes(value: unknown, named: Set<string>): void {
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    if (name === "sha256" && typeof inner === "string") named.add(inner);
    else addHashes(inner, named);
  }
}
