import { contracts } from "../cluster/contracts/rows.ts";
import { storedObjects } from "../cluster/storage/objects.ts";
import type { AnyRows, Store } from "../store/port.ts";

/** The collections whose rows refer to uploaded bytes. A test looks for `sha256` in the schemas of all. */
export const blobCollections = [contracts, storedObjects] as const satisfies readonly AnyRows[];

/** The hashes of all uploaded bytes that a row of the state names. */
export async function namedBlobs(store: Store): Promise<ReadonlySet<string>> {
  const named = new Set<string>();
  await store.read(async (view) => {
    for (const row of await view.list(contracts)) addHashes(row, named);
    for (const row of await view.list(storedObjects)) addHashes(row, named);
  });
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
