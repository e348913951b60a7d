import * as z from "zod";
import { defineRows } from "../store/port.ts";

/** A stored cluster. Its address is not stored, because it is assigned when the emulator starts. */
export const ClusterRow = z.strictObject({
  id: z.string().min(1),
  /** Name of the region; `cluster_label` in responses. */
  label: z.string(),
  /** Expected value of `x-cluster-key`. */
  key: z.string(),
  /** Named sets of clusters in chat_a paths to which this cluster belongs (DECISIONS.md, R15). */
  destinations: z.array(z.string()),
  /** Origin of an external back end; null for an emulated cluster. */
  external_url: z.url().nullable(),
  /** Position in the seed's list, which determines the order of requests and of equally ranked responses. */
  position: z.int(),
});
export type ClusterRow = z.infer<typeof ClusterRow>;

export const clusterRows = defineRows({
  name: "clusters",
  schema: ClusterRow,
  key: (row) => row.id,
  indexes: { position: (row) => row.position },
});

/** One deployment behind the router of a running emulator. */
export interface Cluster {
  readonly id: string;
  readonly label: string;
  readonly key: string;
  readonly destinations: readonly string[];
  /** Address for clients, without a trailing slash. Responses and links contain this address. */
  readonly url: string;
  /** Address for the router: the origin of the cluster's listener or of the external back end. */
  readonly internalUrl: string;
  readonly external: boolean;
}

/** Updates the running clusters from the rows of a replaced state. Their listeners stay open. */
export function applyClusterRows(clusters: readonly Cluster[], rows: readonly ClusterRow[]): void {
  for (const { id, label, key, destinations } of rows) {
    const cluster = clusters.find((each) => each.id === id);
    if (cluster) Object.assign(cluster, { label, key, destinations });
  }
}
