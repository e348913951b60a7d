import { didYouMean } from "../../base/suggest.ts";
import type { Context } from "../command.ts";
import { CommandFailedError } from "../failure.ts";

/**
 * Refuses a cluster that the service does not list, before a file of any size is read. Where the list cannot be had,
 * the first call tells.
 */
export async function requireKnownCluster(cluster: string, context: Context): Promise<void> {
  const { listClusters } = await import("../../api/router/clusters.ts");
  const client = await context.client("router");
  const found = await client.call(listClusters, {}, { signal: context.signal, retries: 0 }).catch(() => undefined);
  context.signal.throwIfAborted();
  const known = found?.map(({ cluster_id }) => cluster_id);
  if (known === undefined || known.includes(cluster)) return;
  throw new CommandFailedError("not-found", "unknown_cluster", `Cluster "${cluster}" not found. Nothing was sent.`, {
    hint: didYouMean(cluster, known),
    next: ["router", "clusters"],
  });
}
