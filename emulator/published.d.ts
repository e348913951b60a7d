// Types of svc-toolkit/emulator. The code imports them from this file, and the package publishes the file unchanged, so
// it has no imports. test/packaged/published.types.ts compares the functions and classes with the exports of
// emulator/index.ts.

declare global {
  // Newer compilers and the types of Node declare this symbol too. A repeated declaration is valid.
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol;
  }
}

/** A cluster of a running emulator, with the API key of its first workspace. */
export interface RunningCluster {
  readonly id: string;
  /** Origin of the cluster's listener, which is the base URL of the contract API. */
  readonly url: string;
  readonly clusterKey: string;
  readonly external: boolean;
  /** Undefined if the cluster has no workspace. */
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
  /** Base64 of the key that signs the workspace's webhooks. */
  readonly hmacKey: string | undefined;
}

/**
 * Target of a clock advance. `by` is in milliseconds, or a duration such as `PT2H35M` or `2h35m`. `to` is in
 * milliseconds since the epoch, or an ISO time. `next` advances to the next due entry, and `untilIdle` until no entry
 * is pending.
 */
export type AdvanceTarget =
  | { readonly by: number | string }
  | { readonly to: number | string }
  | { readonly next: true }
  | { readonly untilIdle: true };

/** Result of a clock advance with the entries that ran. Times are in virtual milliseconds. */
export interface AdvanceResult {
  readonly from: number;
  readonly to: number;
  readonly ran: readonly {
    readonly id: number;
    readonly at: number;
    readonly kind: string;
    readonly ref: string;
    readonly outcome: string;
  }[];
  readonly next_due: number | null;
  readonly pending: number;
  readonly status: "done" | "stopped";
  readonly reason?: "too_many_entries" | "too_much_wall_time" | "closing" | "state_replaced" | "store_failed";
}

/**
 * An event of an emulator, without secrets. Times are virtual (ISO 8601), and durations are wall-clock milliseconds.
 */
export type EmulatorEvent =
  | {
      readonly event: "request";
      readonly at: string;
      readonly listener: string;
      readonly service: string;
      /** Null if no operation is declared for the path. */
      readonly operation: string | null;
      readonly method: string;
      readonly target: string;
      /** Status of the response. 0 if the connection ended without a response. */
      readonly status: number;
      readonly failure: string | null;
      /** Name of the caller's control token. Null if the caller has no token. */
      readonly caller: string | null;
      /** Codes of findings in accepted requests. */
      readonly findings: readonly string[];
      readonly duration_ms: number;
    }
  | {
      readonly event: "delivery";
      readonly at: string;
      readonly delivery_id: number;
      readonly webhook_id: number;
      readonly activity: string;
      readonly contract_id: number | null;
      /** ID as commands accept it: `T-12` or `H-12`. */
      readonly composite_id: string | null;
      /** Number, resends included. Null if the attempt was skipped: `outcome` contains the reason. */
      readonly attempt: number | null;
      /** Number among the scheduled attempts. Null for a resend, and if the attempt was skipped. */
      readonly scheduled_number: number | null;
      /** True if a user requested the attempt, outside the schedule. */
      readonly resend: boolean;
      /** Null if there was no response. `error` contains the reason. */
      readonly status: number | null;
      readonly error: string | null;
      readonly duration_ms: number | null;
      readonly outcome: string;
      readonly next_attempt_at: string | null;
      /**
       * True if the webhook is disabled. The attempt at `next_attempt_at` is skipped unless the webhook is enabled
       * first.
       */
      readonly webhook_disabled: boolean;
    }
  /** Another state replaced the current state: a reset, an import, a restore or a rewind. */
  | { readonly event: "state"; readonly at: string }
  | {
      /** The virtual clock was advanced. */
      readonly event: "clock";
      readonly from: string;
      readonly to: string;
    }
  /** Number of further events that are not listed. */
  | { readonly event: "dropped"; readonly count: number };

/** A stored state of an emulator. */
export interface Snapshot {
  readonly name: string;
  /** Virtual milliseconds at which it was stored. */
  readonly at: number;
}

/**
 * Target of a rewind. `to` is a virtual time, in milliseconds since the epoch or as an ISO time. `before` is a cause as
 * named in traces (`request:12`): its changes and all later changes are undone. `steps` is a number of requests and
 * clock advances that changed the state.
 */
export type Rewind = { readonly to: number | string } | { readonly before: string } | { readonly steps: number };

/** A running emulator. */
export interface Emulator {
  readonly instanceId: string;
  /** Base URL of the routing service, which forwards requests to the contract API to the cluster of the client-id. */
  readonly routerUrl: string;
  /** Base URL of the control plane. */
  readonly controlUrl: string;
  readonly clusters: readonly RunningCluster[];
  /** Token of the control plane. */
  readonly token: string;
  /** Path of the stored state. Undefined if the state is in memory. */
  readonly file: string | undefined;
  /** URL of the PostgreSQL database of the state, without a password. Undefined for other stores. */
  readonly store: string | undefined;
  readonly clock: {
    /** Returns the virtual time in milliseconds since the epoch. */
    now(): number;
    /**
     * Mode of the clock: `real` runs at `speed`, `manual` stops until it is advanced, `auto` jumps to the next due
     * entry.
     */
    readonly mode: "real" | "manual" | "auto";
    /** Virtual seconds per real second in mode `real`. */
    readonly speed: number;
    /**
     * Advances the virtual clock and runs all entries that become due. Rejects with AdvanceTargetInPastError,
     * AdvanceTargetTooFarError, AdvanceUnderWayError or DeliveryUnderWayError and then changes nothing.
     */
    advance(target: AdvanceTarget): Promise<AdvanceResult>;
  };
  /**
   * Saves the current state: rows, virtual time, scheduled entries and scripted faults. Default names are snapshot-1,
   * snapshot-2 and so on. Rejects with SnapshotExistsError if the name is taken, unless `replace` is set.
   */
  snapshot(name?: string, options?: { readonly replace?: boolean }): Promise<Snapshot>;
  /**
   * Restores a snapshot. The replaced state is saved as `before-1` and so on, unless both states are equal. Rejects
   * with SnapshotNotFoundError or InvalidSnapshotError and then changes nothing.
   */
  restore(snapshot: string | Pick<Snapshot, "name">): Promise<{ readonly backupSnapshot: string | undefined }>;
  /**
   * Rewinds the current state, which is saved first as `before-1` and so on. If nothing is undone, nothing is saved.
   * Requires a state in a file or a database. Rejects with HistoryUnavailableError for other states, with
   * RewindOutOfRangeError if the history is too short, and with RewindTargetInFutureError if the time is in the future.
   * A rejected rewind changes nothing.
   */
  rewind(target: Rewind): Promise<{ readonly backupSnapshot: string | undefined }>;
  /**
   * Starts another emulator in this process with a copy of the current state. It uses free ports and memory, and has
   * its own clock, inboxes and snapshots. The emulators are independent, and each must be closed.
   */
  fork(): Promise<Emulator>;
  /**
   * Calls the listener with batches of all further requests, delivery attempts and clock advances. If there are too
   * many events, some are dropped and counted. The next batch follows when the listener has finished. Returns a
   * function that removes the listener and resolves after the last batch.
   */
  watch(listener: (events: readonly EmulatorEvent[]) => Promise<void> | void): () => Promise<void>;
  /** Resolves when the emulator has stopped, regardless of the cause. */
  readonly closed: Promise<void>;
  /**
   * Stops accepting requests and waits for pending requests and due deliveries, for at most 900 ms (see `graceMs`).
   * Other deliveries remain for the next start. The wait ends when `signal` is aborted.
   */
  close(options?: { readonly signal?: AbortSignal }): Promise<void>;
  /** Closes the emulator at the end of the block with `await using emulator = await startEmulator()`. */
  [Symbol.asyncDispose](): PromiseLike<void>;
}

/** Options of an emulator. All are optional. By default, an emulator uses the demo seed, free ports and memory. */
export interface EmulatorOptions {
  /** Port of the router. The clusters use the following ports. 0 (default) selects free ports for all. */
  readonly port?: number;
  /** Address to listen on (default: loopback). */
  readonly host?: string;
  /** Allowed names in the Host header in addition to the names of this machine. */
  readonly allowedHosts?: readonly string[];
  /**
   * Path of the stored state. The file and its folders are created if they do not exist. By default, the state is in
   * memory and is lost when the emulator stops.
   */
  readonly file?: string | undefined;
  /**
   * PostgreSQL database of the state, instead of a `file`: `postgres://user@host/database`. Processes with the same
   * store share one state, and a start resolves when this process becomes the leader. If the URL has no
   * password, PGPASSWORD or a password file (PGPASSFILE, ~/.pgpass) provides it.
   */
  readonly store?: string | undefined;
  /** Schema of the `store` in the database (default: `svc`). */
  readonly schema?: string | undefined;
  /**
   * Called each time another process becomes the leader. Requests to the router and the clusters of this process are
   * then forwarded to the leader.
   */
  readonly onLeaderChange?: ((at: { readonly routerUrl: string; readonly leader: string }) => void) | undefined;
  /** Called when this process becomes the leader again. */
  readonly onLeadershipRegained?: (() => void) | undefined;
  /**
   * Wall-clock milliseconds for which the leader of a `store` remains the leader after its last confirmation (default:
   * 3,000). A leader that was killed is replaced after this time. All processes of a store must use the same value.
   */
  readonly leaseMs?: number;
  /** Cancels a start that waits for another process. */
  readonly signal?: AbortSignal | undefined;
  /** If true, the state is in memory even if `file` is set. */
  readonly ephemeral?: boolean;
  /** Path of an additional run file. A `file` always has a run file next to it, which is the lock. */
  readonly runFile?: string | undefined;
  /** Initial state: a name, or the document itself. It is ignored if the file already contains a state. */
  readonly seed?: "demo" | "empty" | object;
  /**
   * Path of a file whose state is copied: a snapshot, the state of another emulator, or an exported state. The file is
   * not changed. `file` must not contain a state yet. A reset restores the seed.
   */
  readonly from?: string | undefined;
  /**
   * Maximum size in bytes of the history for rewinds next to a `file` (default: 256 MiB). 0 stores no history. A state
   * in memory has no history.
   */
  readonly historyBytes?: number;
  readonly clock?: {
    /**
     * Mode of the clock: `real` runs at `speed`, `manual` stops until it is advanced, `auto` jumps to the next due
     * entry.
     */
    readonly mode?: "real" | "manual" | "auto";
    /** Virtual seconds per real second in mode `real`. */
    readonly speed?: number;
    /** ISO time at which a new state begins (default: now, or the seed's `time` with `deterministic`). */
    readonly start?: string;
  };
  /**
   * Maximum wall-clock milliseconds for pending requests, and for due deliveries, when the emulator closes (default:
   * 900 for both together).
   */
  readonly graceMs?: number;
  /** Token of the control plane (default: a new token). */
  readonly token?: string | undefined;
  /** Relaxed checks to turn off: bodies, keys, paths, pkce, storage, receivers, signatures. */
  readonly strict?: Iterable<string>;
  /**
   * Path of a corpus of `svc verify`, whose observations of the service replace assumptions. Observations that
   * contradict the specification are not applied, and `log` reports them.
   */
  readonly observed?: string | undefined;
  /** Called with each line about a bug or a warning. */
  readonly log?: (line: string) => void;
  /**
   * OpenTelemetry variables, such as `process.env`. If they configure a collector, the emulator exports spans to it. By
   * default, nothing is exported.
   */
  readonly otel?: Readonly<Record<string, string | undefined>> | undefined;
  /** URL of the router for clients, without a trailing slash. It is used in the issuer, links and signature bases. */
  readonly publicUrl?: string;
  /**
   * Origins of the clusters for clients, by cluster ID. By default, they are next to `publicUrl` if its port is the
   * router's port, and otherwise the addresses of the listeners.
   */
  readonly clusterUrls?: Readonly<Record<string, string>>;
  /**
   * Addresses and ranges (`10.0.0.0/8`) of trusted proxies, which can set `X-Forwarded-For`, `-Proto` and `-Host`.
   * These headers are removed from other requests. By default, only programs of this machine can set the client
   * address.
   */
  readonly trustedProxies?: readonly string[];
  /** If true, both spellings of a path are served, instead of a redirect. */
  readonly lenientSlashes?: boolean;
  /**
   * If true, IDs, keys and times come from the seed and work runs sequentially. Equal requests at the same `port` then
   * have equal responses, which can contain addresses with the port.
   */
  readonly deterministic?: boolean;
  /** Wall-clock milliseconds that the router waits for a cluster (default: 30,000). */
  readonly upstreamTimeoutMs?: number;
  /** Wall-clock milliseconds that the router waits for a cluster for chat requests (default: 2,500). */
  readonly chatUpstreamTimeoutMs?: number;
  /** Maximum number of requests per second and workspace, by the wall clock. 0 means no limit. */
  readonly rateLimit?: number;
  /** Allowed hosts of webhooks other than loopback: `host`, `host:port` or `*.domain`. */
  readonly webhookAllow?: readonly string[];
  /**
   * Delays between a failed attempt of a webhook and the next attempt: `["5m", "PT10M"]`. They apply to workspaces
   * whose seed has no schedule. An empty list disables retries. Default: 5, 10, 20, 40, 80 and 160 minutes.
   */
  readonly retrySchedule?: readonly string[];
  /** If true, attempts are rounded up to the next full minute, as the retry worker of the real service does. */
  readonly workerTick?: boolean;
  /** Additional schemes that sign webhooks. `standard` is Standard Webhooks. */
  readonly webhookSchemes?: readonly "standard"[];
  /** If true, webhooks have a W3C `traceparent`, so that receivers continue the trace of the cause. */
  readonly traceWebhooks?: boolean;
  /** Format of the JSON of webhooks (default: `compact`). `mixed` alternates between the formats. */
  readonly webhookJson?: "compact" | "spaced" | "escaped" | "mixed";
  /**
   * Virtual milliseconds after which every signatory signs automatically. By default, no signatory signs automatically.
   */
  readonly autoSignMs?: number | undefined;
  /** Wall-clock milliseconds for the connection of an attempt (default: 5,000). */
  readonly webhookConnectTimeoutMs?: number;
  /** Wall-clock milliseconds for the complete response to an attempt (default: 60,000). */
  readonly webhookResponseTimeoutMs?: number;
  /** Maximum size in bytes of received requests in memory (default: 4 MiB). */
  readonly requestLogBytes?: number;
  /** Maximum size in bytes of the requests in memory, for each emulated cluster (default: 4 MiB). */
  readonly inboxBytes?: number;
  /**
   * Wall-clock milliseconds for which a client may leave its response unread (default: 120,000). Its connection is then
   * closed.
   */
  readonly unreadResponseTimeoutMs?: number;
}

/**
 * Starts an emulator in this process. Several emulators can run at once and share nothing. Rejects with
 * InvalidOptionsError if an option is invalid, with StateFormatError if the state file is damaged, and with
 * StateLockedError if another emulator uses the file. Nothing keeps running after a rejection.
 */
export function startEmulator(options?: EmulatorOptions): Promise<Emulator>;

/** Result of a repair. */
export interface Repair {
  /** True if the state was damaged. Otherwise nothing was changed. */
  readonly repaired: boolean;
  /** Descriptions of the damage with file and line, one per damaged file. */
  readonly damage: readonly string[];
  /** Contents of the repaired state. */
  readonly retained: { readonly rows: number; readonly mappings: number; readonly transactions: number };
  /** Paths of journals that were not read, because they follow the damage. */
  readonly dropped: readonly string[];
  /** The new paths of the damaged and dropped files. */
  readonly renamed: readonly string[];
}

/**
 * Repairs a damaged state while no emulator uses it. All contents before the damage are retained, and damaged files are
 * moved aside. Rejects with StateLockedError if an emulator is running, with StateFormatError if the state cannot be
 * repaired, and with StateAccessError if the file system rejects a write.
 */
export function repairState(path: string): Promise<Repair>;

/** Returns the JSON Schema of seeds, for editors and generators. */
export function seedSchema(): object;

/** The options or the arguments of a method are invalid. */
export class InvalidOptionsError extends Error {
  private constructor();
}

/** The emulator is closed and cannot advance time, or save, restore or copy a state. */
export class EmulatorClosedError extends Error {
  private constructor();
}

/** The target of the advance is not in the future. */
export class AdvanceTargetInPastError extends Error {
  private constructor();
}

/** The target of the advance is after the year 9999. */
export class AdvanceTargetTooFarError extends Error {
  private constructor();
}

/** Another advance is running. */
export class AdvanceUnderWayError extends Error {
  private constructor();
}

/** A receiver has not responded to an earlier delivery for a second, perhaps because it advances the clock itself. */
export class DeliveryUnderWayError extends Error {
  private constructor();
}

/** No snapshot has this name. */
export class SnapshotNotFoundError extends Error {
  private constructor();
  readonly wanted: string;
  /** Names of the existing snapshots. */
  readonly known: readonly string[];
}

/** A snapshot has this name, or a name that differs only in case. */
export class SnapshotExistsError extends Error {
  private constructor();
  readonly taken: string;
}

/** The snapshot is damaged, has another version, or is not a snapshot. Nothing was changed. */
export class InvalidSnapshotError extends Error {
  private constructor();
  readonly snapshot: string;
  readonly reason: string;
}

/** The history of the current state is not stored. */
export class HistoryUnavailableError extends Error {
  private constructor();
}

/** The stored history is too short. */
export class RewindOutOfRangeError extends Error {
  private constructor();
}

/** The target of the rewind is in the future. */
export class RewindTargetInFutureError extends Error {
  private constructor();
  /** Current virtual time in milliseconds. */
  readonly now: number;
}

/** Another process that is or may be running uses the state. */
export class StateLockedError extends Error {
  private constructor();
  readonly pid: number;
}

/** A file contains no state, or a damaged state. */
export class StateFormatError extends Error {
  private constructor();
  /** True if `repairState` can recover the intact part. False for another version or another kind of file. */
  readonly repairable: boolean;
}

/** The state cannot be used on this machine, because of missing space or permissions. */
export class StateAccessError extends Error {
  private constructor();
}
