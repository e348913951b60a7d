import * as z from "zod";
import { defineRows } from "../store/port.ts";

/** A stored cluster. Its address is only known while the emulator runs. */
export const ClusterRow = z.strictObject({
  id: z.string().min(1),
  /** Name of the region; `cluster_label` in responses. */
  label: z.string(),
  /** Its `x-cluster-key`. */
  key: z.string(),
  /** Named sets of clusters in chat_a paths that include it (DECISIONS.md, R15). */
  destinations: z.array(z.string()),
  /** Origin of an external back end; null for an emulated cluster. */
  external_url: z.url().nullable(),
  /** Position in the seed's list: the order of requests and of equally ranked responses. */
  position: z.int(),
});
export type ClusterRow = z.infer<typeof ClusterRow>;

export const clusterRows = defineRows<ClusterRow, "position">({
  name: "clusters",
  schema: ClusterRow,
  key: (row) => row.id,
  indexes: { position: (row) => row.position },
});

/** One deployment behind the router, in a running emulator. */
export interface Cluster {
  readonly id: string;
  readonly label: string;
  readonly key: string;
  readonly destinations: readonly string[];
  /** Its address for clients, without a trailing slash. Responses and links contain it. */
  readonly url: string;
  /** Its address for the router: the origin of its listener, or of the real back end. */
  readonly reachedAt: string;
  /** Whether it is an external back end. */
  readonly external: boolean;
}

/** Updates the running clusters from a replaced state. Their listeners stay. */
export function applyClusterRows(clusters: readonly Cluster[], rows: readonly ClusterRow[]): void {
  for (const { id, label, key, destinations } of rows) {
    const cluster = clusters.find((each) => each.id === id);
    if (cluster) Object.assign(cluster, { label, key, destinations });
  }
}
