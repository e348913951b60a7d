/** One deployment behind the router, as it stands in a running emulator. */
export interface Cluster {
  readonly id: string;
  /** Name of the region; `cluster_label` in answers. */
  readonly label: string;
  /** Its `x-cluster-key`. */
  readonly key: string;
  /** Named sets of clusters in chat_a paths that it belongs to (decisions.md, R15). */
  readonly destinations: readonly string[];
  /** Origin of its listener, or of the real back end, without a slash at the end. */
  readonly url: string;
  /** A back end that we do not run. */
  readonly external: boolean;
}
