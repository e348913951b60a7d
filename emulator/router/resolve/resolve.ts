import type { Cluster } from "../../domain/clusters.ts";
import type { View } from "../../store/port.ts";
import type { RouterContext } from "../context.ts";
import { signatories } from "../mapping/signatories.ts";
import { mappingTables } from "../mapping/tables.ts";
import { findClusterByPrefix, type Identifier } from "./identifiers.ts";

/**
 * The clusters that own the first identifier with a known owner; none if no identifier is mapped. Only a signatory can
 * belong to several (DECISIONS.md, R14).
 */
export function findOwners(
  { store, clusters }: Pick<RouterContext, "store" | "clusters">,
  identifiers: Iterable<Identifier>,
): Promise<readonly Cluster[]> {
  return store.read(async (view) => {
    for (const identifier of identifiers) {
      const owners = await lookup(view, clusters, identifier);
      if (owners.length > 0) return owners;
    }
    return [];
  });
}

/** Every cluster that owns any of the identifiers, with that identifier. */
export function findOwnersByTable<Known extends Identifier>(
  { store, clusters }: Pick<RouterContext, "store" | "clusters">,
  identifiers: readonly Known[],
): Promise<readonly (Known & { readonly cluster: Cluster })[]> {
  return store.read(async (view) => {
    const found: (Known & { readonly cluster: Cluster })[] = [];
    for (const identifier of identifiers) {
      for (const cluster of await lookup(view, clusters, identifier)) found.push({ ...identifier, cluster });
    }
    return found;
  });
}

async function lookup(view: View, clusters: readonly Cluster[], { table, key }: Identifier): Promise<Cluster[]> {
  if (table === "prefix") return [findClusterByPrefix(clusters, key)].filter((found) => found !== undefined);
  const ids = await findClusterIds(view, table, key);
  return clusters.filter(({ id }) => ids.includes(id));
}

async function findClusterIds(
  view: View,
  table: Exclude<Identifier["table"], "prefix">,
  key: string,
): Promise<string[]> {
  if (table === "cluster") return [key];
  if (table === "signatories") {
    return (await view.list(signatories, { by: "hash", equals: key })).map(({ cluster }) => cluster);
  }
  const id = await view.lookup(mappingTables[table], key);
  return id === undefined ? [] : [id];
}
