import * as z from "zod";
import { rows } from "../store/port.ts";

/** A stored cluster; its address is known only while the emulator runs. */
export const ClusterRow = z.strictObject({
  id: z.string().min(1),
  /** Name of the region; `cluster_label` in answers. */
  label: z.string(),
  /** Its `x-cluster-key`. */
  key: z.string(),
  /** Named sets of clusters in chat_a paths that it belongs to (DECISIONS.md, R15). */
  destinations: z.array(z.string()),
  /** Origin of a back end that we do not run; null for an emulated cluster. */
  external_url: z.url().nullable(),
  /** Place in the seed's list: the order in which clusters are asked and tied answers are ranked. */
  position: z.int(),
});
export type ClusterRow = z.infer<typeof ClusterRow>;

export const clusterRows = rows<ClusterRow, "position">({
  name: "clusters",
  schema: ClusterRow,
  key: (row) => row.id,
  indexes: { position: (row) => row.position },
});

/** One deployment behind the router, as it is in a running emulator. */
export interface Cluster {
  readonly id: string;
  readonly label: string;
  readonly key: string;
  readonly destinations: readonly string[];
  /** Its address for clients, without a slash at the end: responses and links name it. */
  readonly url: string;
  /** Its address for the router: origin of its listener, or of the real back end. */
  readonly reachedAt: string;
  /** A back end that we do not run. */
  readonly external: boolean;
}

/** Lets running clusters take over what a state that was put in as a whole says of them; their listeners stay. */
export function applyClusterRows(clusters: readonly Cluster[], rows: readonly ClusterRow[]): void {
  for (const { id, label, key, destinations } of rows) {
    const cluster = clusters.find((each) => each.id === id);
    if (cluster) Object.assign(cluster, { label, key, destinations });
  }
}
