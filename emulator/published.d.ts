// The types of svc-toolkit/emulator. The code imports them from here, and the package publishes this file as it is, so
// it has no imports. Functions and classes are compared with the exports of emulator/index.ts
// (test/packaged/published.types.ts).

declare global {
  // Known to newer compilers and to the types of Node; the same words again do no harm.
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol;
  }
}

/** A cluster of a running emulator, with the API key of its first workspace. */
export interface RunningCluster {
  readonly id: string;
  /** Origin of its listener: the base URL of the contract API. */
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
 * How far to move virtual time. `by`: milliseconds, or a duration such as `PT2H35M` or `2h35m`. `to`: milliseconds
 * since the epoch, or an ISO time. `untilIdle`: until nothing waits any more.
 */
export type AdvanceTarget =
  | { readonly by: number | string }
  | { readonly to: number | string }
  | { readonly next: true }
  | { readonly untilIdle: true };

/** Entries that an advance ran on its way; times are virtual milliseconds. */
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
 * Something that an emulator did, without secrets; times are virtual, ISO 8601, and durations wall-clock milliseconds.
 */
export type EmulatorEvent =
  | {
      readonly event: "request";
      readonly at: string;
      readonly listener: string;
      readonly service: string;
      /** Null: nothing is declared for the path. */
      readonly operation: string | null;
      readonly method: string;
      readonly target: string;
      /** 0: the connection ended without a response. */
      readonly status: number;
      readonly failure: string | null;
      /** Name of the caller's control token; null: no token. */
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
      /** The same as commands take it: `T-12` or `H-12`. */
      readonly composite_id: string | null;
      /** Null: it was skipped, see outcome. */
      readonly attempt: number | null;
      /** Null: no response came, see error. */
      readonly status: number | null;
      readonly error: string | null;
      readonly duration_ms: number | null;
      readonly outcome: string;
      readonly next_attempt_at: string | null;
      /** The attempt at that time is skipped unless the webhook is enabled before. */
      readonly webhook_disabled: boolean;
    }
  /** Another state took the place of the one before: a reset, an import, a restore, a rewind. */
  | { readonly event: "state"; readonly at: string }
  | {
      /** Time was moved. */
      readonly event: "clock";
      readonly from: string;
      readonly to: string;
    }
  /** Number of further ones that are not listed. */
  | { readonly event: "dropped"; readonly count: number };

/** A kept state of an emulator. */
export interface Snapshot {
  readonly name: string;
  /** Virtual milliseconds at which it was stored. */
  readonly at: number;
}

/**
 * How far to go back. `to`: a virtual time, milliseconds since the epoch or an ISO time. `before`: to before this cause
 * changed anything, as traces call it (`request:12`). `steps`: to before this many of the last requests and clock
 * advances that changed anything.
 */
export type Rewind = { readonly to: number | string } | { readonly before: string } | { readonly steps: number };

/** A running emulator. */
export interface Emulator {
  readonly instanceId: string;
  /** Base URL of the routing service; contract-API paths sent there reach the cluster of the client-id. */
  readonly routerUrl: string;
  /** Base URL of the control plane. */
  readonly controlUrl: string;
  readonly clusters: readonly RunningCluster[];
  /** Token of the control plane. */
  readonly token: string;
  /** Path of the stored state; undefined in memory. */
  readonly file: string | undefined;
  /** URL of the PostgreSQL database of the state, without a password; undefined for other stores. */
  readonly store: string | undefined;
  readonly clock: {
    /** Virtual milliseconds since the epoch. */
    now(): number;
    /** `real` passes with a speed, `manual` stands still until it is advanced, `auto` jumps to the next due entry. */
    readonly mode: "real" | "manual" | "auto";
    /** Virtual seconds per second, in mode `real`. */
    readonly speed: number;
    /** Moves virtual time and runs everything that becomes due on the way. */
    advance(target: AdvanceTarget): Promise<AdvanceResult>;
  };
  /**
   * Saves the present state: rows, virtual time, scheduled entries, scripted faults. The default name is snapshot-1,
   * snapshot-2 and so on. Fails with SnapshotExistsError if the name is taken, unless `replace`.
   */
  snapshot(name?: string, options?: { readonly replace?: boolean }): Promise<Snapshot>;
  /**
   * Goes back to a snapshot. The state that is left is stored before, as `before-1` and so on, unless it is the same.
   * Fails with SnapshotNotFoundError and InvalidSnapshotError, and then nothing is changed.
   */
  restore(snapshot: string | Pick<Snapshot, "name">): Promise<{ readonly backupSnapshot: string | undefined }>;
  /**
   * Goes back on the way that led to the present state, which is stored before, as `before-1` and so on. Only where the
   * state is stored in a file or a database: fails with HistoryUnavailableError otherwise, with RewindOutOfRangeError
   * if not this much is stored, with RewindTargetInFutureError for a time that lies ahead; then nothing is changed.
   * Where nothing is taken back, nothing is stored.
   */
  rewind(target: Rewind): Promise<{ readonly backupSnapshot: string | undefined }>;
  /**
   * Starts another emulator in this process that begins with the present state: on free ports, in memory, with a clock,
   * inboxes and snapshots of its own. Neither knows of the other; each is closed for itself.
   */
  fork(): Promise<Emulator>;
  /**
   * Calls the listener with every request, delivery attempt and clock advance from now on, in batches; a flood is cut,
   * and counted. The next batch comes once the listener is done with the last one. Returns the function that ends it,
   * which resolves after the last batch.
   */
  watch(tell: (events: readonly EmulatorEvent[]) => Promise<void> | void): () => Promise<void>;
  /** Resolves when it has ended, no matter which call ended it. */
  readonly closed: Promise<void>;
  /**
   * Stops accepting, lets requests and deliveries that are due end, for 900 ms at most (see `graceMs`), and leaves the rest
   * for the next start. Once `signal` is aborted, it waits for nothing more.
   */
  close(options?: { readonly signal?: AbortSignal }): Promise<void>;
  /** `await using emulator = await startEmulator()` closes it at the end of the block. */
  [Symbol.asyncDispose](): PromiseLike<void>;
}

/** How an emulator is started. Everything may be omitted: then it is the demo seed on free ports, kept nowhere. */
export interface EmulatorOptions {
  /** Port of the router; the clusters take the ones after it. 0 (default): all free ports. */
  readonly port?: number;
  /** Address to listen on; the default is loopback. */
  readonly host?: string;
  /** Names that the Host header may have next to those of this machine. */
  readonly allowedHosts?: readonly string[];
  /**
   * Path of the stored state. It is created if it does not exist, with its folders. Omitted: in memory, and gone at the
   * end.
   */
  readonly file?: string | undefined;
  /**
   * PostgreSQL database of the state, instead of a `file`: `postgres://user@host/database`. Processes with the same
   * store share one state: the start resolves once this one leads, after earlier ones have ended. A password may be in
   * it; else it is that of PGPASSWORD.
   */
  readonly store?: string | undefined;
  /** The schema that the `store` has for itself; default: `svc`. */
  readonly schema?: string | undefined;
  /**
   * Called each time another process leads: requests to the addresses of the router and of the clusters here are
   * forwarded to that one.
   */
  readonly onLeaderChange?: ((at: { readonly routerUrl: string; readonly leader: string }) => void) | undefined;
  /** Called whenever this process leads again after another one did. */
  readonly onLeadershipRegained?: (() => void) | undefined;
  /**
   * How long the leader of a `store` may consider itself the leader after its last confirmation, wall-clock
   * milliseconds; the same in all processes of it. A killed one is replaced after that time. Default: 3,000.
   */
  readonly leaseMs?: number;
  /** Ends a start that waits for another process. */
  readonly signal?: AbortSignal | undefined;
  /** Keeps everything in memory even when a file is named. */
  readonly ephemeral?: boolean;
  /** Additional path of the run file. A `file` always has one next to it: it is the lock. */
  readonly runFile?: string | undefined;
  /** The starting state of a new file: a name, or the document itself. A file that has a state keeps it. */
  readonly seed?: "demo" | "empty" | object;
  /**
   * Begins with a copy of the state in this file, which stays unchanged: a snapshot, the state of another emulator, or
   * an exported one. A `file` must have no state yet. A reset restores the seed.
   */
  readonly from?: string | undefined;
  /**
   * Limit in bytes of the history that is stored next to a `file` for rewinds; 0: none. The default is 256 MiB. In
   * memory nothing is stored.
   */
  readonly historyBytes?: number;
  readonly clock?: {
    /** `real` passes with a speed, `manual` stands still until it is advanced, `auto` jumps to the next due entry. */
    readonly mode?: "real" | "manual" | "auto";
    /** Virtual seconds per second, in mode `real`. */
    readonly speed?: number;
    /** ISO time at which a new state begins; default: now, or the seed's `time` with `deterministic`. */
    readonly start?: string;
  };
  /**
   * How long requests, and deliveries that are due, may take to end when it is closed, wall-clock milliseconds each.
   * Default: 900 for all together.
   */
  readonly graceMs?: number;
  /** Token of the control plane; default: a new one. */
  readonly token?: string | undefined;
  /** Leniencies to turn off: bodies, keys, paths, pkce, storage, receivers, signatures. */
  readonly strict?: Iterable<string>;
  /**
   * A corpus of `svc verify`: observations of the service replace assumptions. Observations that contradict the
   * specification are reported to `log`, and not applied.
   */
  readonly observed?: string | undefined;
  /** Called with bugs and warnings, a line each; default: none. */
  readonly log?: (line: string) => void;
  /**
   * Variables of the OpenTelemetry standard, such as `process.env`: where they name a collector, all that happens is sent to
   * it as spans. Default: nothing is sent.
   */
  readonly otel?: Readonly<Record<string, string | undefined>> | undefined;
  /** The router's URL for clients, without a slash at the end: the issuer, links, signature bases. */
  readonly publicUrl?: string;
  /**
   * Origins at which clients find the listeners of clusters, by cluster id, as `publicUrl` says it of the router.
   * Default: next to `publicUrl`, if that has the router's own port; else where it listens.
   */
  readonly clusterUrls?: Readonly<Record<string, string>>;
  /**
   * Addresses and ranges (`10.0.0.0/8`) of proxies whose `X-Forwarded-For`, `-Proto` and `-Host` count. From others these
   * headers are taken off. Default: none, but programs of this machine may say who calls.
   */
  readonly trustedProxies?: readonly string[];
  /** Serve both spellings of a path instead of redirecting. */
  readonly lenientSlashes?: boolean;
  /**
   * Ids, keys and times from the seed, one thing at a time: the same calls at the same `port` give the same bytes, since
   * addresses in answers hold the port.
   */
  readonly deterministic?: boolean;
  /** How long the router waits for a cluster, wall-clock time; default: 30 seconds. */
  readonly upstreamTimeoutMs?: number;
  /** The same for requests of chats; default: 2.5 seconds. */
  readonly chatUpstreamTimeoutMs?: number;
  /** Requests a second per workspace on the wall clock; 0 is not a limit. */
  readonly rateLimit?: number;
  /** Hosts other than loopback that webhooks may be sent to: `host`, `host:port` or `*.domain`. */
  readonly webhookAllow?: readonly string[];
  /**
   * How long after a failed attempt of a webhook the next one is made, in workspaces whose seed has no schedule of their own:
   * `["5m", "PT10M"]`. An empty list: no retries. Default: 5, 10, 20, 40, 80 and 160 minutes.
   */
  readonly retrySchedule?: readonly string[];
  /** Round attempts up to the next whole minute, as the real retry worker does. */
  readonly workerTick?: boolean;
  /** Sign webhooks by these schemes, too: `standard`, which is Standard Webhooks. */
  readonly webhookSchemes?: readonly "standard"[];
  /** Add a W3C `traceparent` to webhooks, so that receivers continue the trace of their cause. */
  readonly traceWebhooks?: boolean;
  /** How the JSON of webhooks is written; `mixed`: in turn. Default: `compact`. */
  readonly webhookJson?: "compact" | "spaced" | "escaped" | "mixed";
  /** Let every signatory sign by itself after this much virtual time; undefined: none does. */
  readonly autoSignMs?: number | undefined;
  /** Limit of an attempt by the wall clock; default: 5 seconds. */
  readonly webhookConnectTimeoutMs?: number;
  /** The same for the whole response; default: 60 seconds. */
  readonly webhookResponseTimeoutMs?: number;
  /** Bytes of received requests that are stored in memory; default: 4 MiB. */
  readonly requestLogBytes?: number;
  /** Bytes of requests to each emulated cluster that are stored in memory; default: 4 MiB. */
  readonly inboxBytes?: number;
  /** How long a caller may take nothing of its response before it is cut off; default: two minutes. */
  readonly unreadAnswerTimeoutMs?: number;
}

/**
 * Starts an emulator in this process. Any number may run at once; nothing is shared between them. Fails with
 * InvalidOptionsError if they cannot be meant so, with StateFormatError over a damaged file and with StateLockedError
 * over one that another emulator uses; nothing is left running then.
 */
export function startEmulator(options?: EmulatorOptions): Promise<Emulator>;

/** Result of a repair. */
export interface Repair {
  /** False: nothing was damaged and nothing was changed. */
  readonly repaired: boolean;
  /** The damage, with file and line; one entry per damaged file. */
  readonly damage: readonly string[];
  /** Contents of the repaired state. */
  readonly kept: { readonly rows: number; readonly mappings: number; readonly transactions: number };
  /** Journals that were not read, since they come after the damage. */
  readonly dropped: readonly string[];
  /** Present paths of the damaged and dropped files. */
  readonly aside: readonly string[];
}

/**
 * Repairs a damaged state while no emulator uses it: everything before the damage is retained, damaged files are moved
 * aside. Fails with StateLockedError under a running emulator, with StateFormatError if there is nothing to repair
 * from, and with StateAccessError if the file system rejects the write.
 */
export function repairState(path: string): Promise<Repair>;

/** The JSON Schema of seeds, for editors and for those who generate them. */
export function seedSchema(): object;

/** The options are invalid, or the arguments of a call are. */
export class InvalidOptionsError extends Error {
  private constructor();
}

/** The emulator has been closed: it no longer advances time, nor stores, restores or copies a state. */
export class EmulatorClosedError extends Error {
  private constructor();
}

/** No snapshot has that name. */
export class SnapshotNotFoundError extends Error {
  private constructor();
  readonly wanted: string;
  /** The names that there are. */
  readonly known: readonly string[];
}

/** A snapshot has that name, or one that differs in case alone. */
export class SnapshotExistsError extends Error {
  private constructor();
  readonly taken: string;
}

/** A snapshot that cannot be used: damaged, of another version, or none. Nothing was changed. */
export class InvalidSnapshotError extends Error {
  private constructor();
  readonly snapshot: string;
  readonly reason: string;
}

/** The history of the present state is not stored. */
export class HistoryUnavailableError extends Error {
  private constructor();
}

/** The history that is stored does not reach so far. */
export class RewindOutOfRangeError extends Error {
  private constructor();
}

/** The time to go back to lies ahead. */
export class RewindTargetInFutureError extends Error {
  private constructor();
  /** Virtual milliseconds. */
  readonly now: number;
}

/** The state is in use by a process that lives or may live. */
export class StateLockedError extends Error {
  private constructor();
  readonly pid: number;
}

/** A file that holds no state, or a damaged one. */
export class StateFormatError extends Error {
  private constructor();
  /** False if nothing is damaged: it is of another version, or a user's. */
  readonly repairable: boolean;
}

/** The state cannot be used as things are on this machine: no room, no rights. */
export class StateAccessError extends Error {
  private constructor();
}
