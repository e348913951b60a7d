import type { Cluster } from "../../world/clusters.ts";
import type { RouterCall } from "../context.ts";

/** The cluster that a request names, once its key was found to be of it (DECISIONS.md, R6 and R7). */
export function requireCluster(
  { clusters, caller, fail }: RouterCall<"unknown-cluster" | "foreign-cluster-key">,
  id: string,
): Cluster {
  const cluster = clusters.find((known) => known.id === id) ?? fail("unknown-cluster", { cluster: id });
  if (caller?.cluster !== undefined && caller.cluster !== id) fail("foreign-cluster-key", { cluster: id });
  return cluster;
}

/**
 * The cluster whose id begins a value of the form `{cluster_id}_{rest}`. Ids may hold underscores themselves, so the
 * longest known one counts (DECISIONS.md, P6).
 */
export function findClusterByPrefix(clusters: readonly Cluster[], value: string | undefined): Cluster | undefined {
  if (value === undefined) return undefined;
  return clusters
    .filter(({ id }) => value.startsWith(`${id}_`) && value.length > id.length + 1)
    .sort((a, b) => b.id.length - a.id.length)
    .at(0);
}
