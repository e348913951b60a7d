// The types of svc-toolkit/emulator. The code imports them from here, and the package publishes this file as it is, so it
// stands alone. Functions and classes are compared with what emulator/index.ts exports (test/packaged/published.types.ts).

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

/** What an advance ran on its way; times are virtual milliseconds. */
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
      /** Name of the token that the control plane was asked with; null: nobody said. */
      readonly caller: string | null;
      /** Codes of what was accepted by leniency. */
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
  /** This many more than could be told. */
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
  /** Where the state is stored; undefined in memory. */
  readonly file: string | undefined;
  /** Where the state is stored in PostgreSQL, without a password; undefined elsewhere. */
  readonly store: string | undefined;
  readonly clock: {
    /** Virtual milliseconds since the epoch. */
    now(): number;
    /** `real` passes with a speed, `manual` stands until moved, `auto` leaps to what is due. */
    readonly mode: "real" | "manual" | "auto";
    /** Virtual seconds per second, in mode `real`. */
    readonly speed: number;
    /** Moves virtual time and runs everything that becomes due on the way. */
    advance(target: AdvanceTarget): Promise<AdvanceResult>;
  };
  /**
   * Keeps the state as it is now: rows, virtual time, what is scheduled, scripted faults. Left out, the name is snapshot-1,
   * snapshot-2 and so on. Fails with SnapshotExistsError where the name is taken, unless `replace`.
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
   * where not this much is stored, with RewindTargetInFutureError for a time that lies ahead; then nothing is changed.
   * Where nothing is taken back, nothing is stored.
   */
  rewind(target: Rewind): Promise<{ readonly backupSnapshot: string | undefined }>;
  /**
   * Starts another emulator in this process that begins with the present state: on free ports, in memory, with a clock,
   * inboxes and snapshots of its own. Neither knows of the other; each is closed for itself.
   */
  fork(): Promise<Emulator>;
  /**
   * Tells of every request, attempt to deliver and clock advance from now on, in batches; a flood is cut, and counted.
   * The next batch comes once the listener is done with the last one. Returns the function that ends it, which resolves
   * after the last batch.
   */
  watch(tell: (events: readonly EmulatorEvent[]) => Promise<void> | void): () => Promise<void>;
  /** Resolves when it has ended, whoever ended it. */
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
   * Where the state is stored. It is made where it is not there, with its folders. Omitted: in memory, and gone at the
   * end.
   */
  readonly file?: string | undefined;
  /**
   * Where the state is stored in PostgreSQL, instead of a `file`: `postgres://user@host/database`. Processes with the
   * same store share one state: the start resolves once this one leads, after those that came before have ended. A
   * password may are in it; else it is that of PGPASSWORD.
   */
  readonly store?: string | undefined;
  /** The schema that the `store` has for itself; default: `svc`. */
  readonly schema?: string | undefined;
  /**
   * Told each time another process leads: what comes to the router's address here, and to those of the clusters, is
   * forwarded to that one.
   */
  readonly onLeaderChange?: ((at: { readonly routerUrl: string; readonly leader: string }) => void) | undefined;
  /** Told whenever this process leads again after another one did. */
  readonly onLeadershipRegained?: (() => void) | undefined;
  /**
   * How long the process that leads a `store` may take itself for that after it was last told so, wall-clock
   * milliseconds; the same in all processes of it. One that is killed is replaced after that time. Default: 3,000.
   */
  readonly leaseMs?: number;
  /** Ends a start that waits for another process. */
  readonly signal?: AbortSignal | undefined;
  /** Keeps everything in memory even when a file is named. */
  readonly ephemeral?: boolean;
  /** Where to write the run file too. That of a file stands next to it, always: it is the lock. */
  readonly runFile?: string | undefined;
  /** The starting state of a new file: a name, or the document itself. A file that has a state keeps it. */
  readonly seed?: "demo" | "empty" | object;
  /**
   * Begins with a copy of the state in this file, which stays as it is: a snapshot, the state of another emulator, or an
   * exported one. A `file` must have no state yet. The seed is what a reset goes back to.
   */
  readonly from?: string | undefined;
  /**
   * How many bytes are stored at most next to a `file` of what led to the present state, to go back to; 0: nothing. The
   * default is 256 MiB. In memory nothing is stored.
   */
  readonly historyBytes?: number;
  readonly clock?: {
    /** `real` passes with a speed, `manual` stands until moved, `auto` leaps to what is due. */
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
   * A corpus of `svc verify`: what it observes of the service replaces what is assumed. Observations that contradict the
   * specification are reported to `log`, and not applied.
   */
  readonly observed?: string | undefined;
  /** Told about bugs and warnings, a line each; default: nobody. */
  readonly log?: (line: string) => void;
  /**
   * Variables of the OpenTelemetry standard, such as `process.env`: where they name a collector, all that happens is sent to
   * it as spans. Default: nothing is sent.
   */
  readonly otel?: Readonly<Record<string, string | undefined>> | undefined;
  /** What clients believe the router's URL to be, without a slash at the end: the issuer, links, signature bases. */
  readonly publicUrl?: string;
  /**
   * Origins at which clients find the listeners of clusters, by cluster id, as `publicUrl` says it of the router.
   * Default: next to `publicUrl`, where that has the router's own port; else where it listens.
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
  /** Add a W3C `traceparent` to webhooks, so that receivers continue in the trace of what led to them. */
  readonly traceWebhooks?: boolean;
  /** How the JSON of webhooks is written; `mixed`: in turn. Default: `compact`. */
  readonly webhookJson?: "compact" | "spaced" | "escaped" | "mixed";
  /** Let every signatory sign by itself after this much virtual time; undefined: none does. */
  readonly autoSignMs?: number | undefined;
  /** Of an attempt, on the wall clock; default: 5 seconds. */
  readonly webhookConnectTimeoutMs?: number;
  /** The same for the whole response; default: 60 seconds. */
  readonly webhookResponseTimeoutMs?: number;
  /** How much of the requests received is stored in memory; default: 4 MiB. */
  readonly requestLogBytes?: number;
  /** How much of what is forwarded to each emulated cluster is stored in memory; default: 4 MiB. */
  readonly inboxBytes?: number;
  /** How long a caller may take nothing of its response before it is cut off; default: two minutes. */
  readonly unreadAnswerTimeoutMs?: number;
}

/**
 * Starts an emulator in this process. Any number may run at once; nothing is shared between them. Fails with InvalidOptionsError
 * where they cannot be meant so, with StateFormatError over a damaged file and with StateLockedError over one that another emulator
 * uses; nothing is left running then.
 */
export function startEmulator(options?: EmulatorOptions): Promise<Emulator>;

/** What a repair did. */
export interface Repair {
  /** False: nothing was damaged and nothing was changed. */
  readonly repaired: boolean;
  /** What was wrong, with file and line; one entry per damaged file. */
  readonly damage: readonly string[];
  /** What the state holds now. */
  readonly kept: { readonly rows: number; readonly mappings: number; readonly transactions: number };
  /** Journals that were not read, since they come after the damage. */
  readonly dropped: readonly string[];
  /** Where the damaged and dropped files are now. */
  readonly aside: readonly string[];
}

/**
 * Repairs a damaged state while no emulator uses it: what is before the damage is stored, damaged files are moved
 * aside. Fails with StateLockedError under a running emulator, with StateFormatError where there is nothing to repair
 * from, and with StateAccessError where the file system rejects.
 */
export function repairState(path: string): Promise<Repair>;

/** The JSON Schema of seeds, for editors and for those who generate them. */
export function seedSchema(): object;

/** The options say what no emulator can be, or what is asked of one cannot be meant so. */
export class InvalidOptionsError extends Error {
  private constructor();
}

/** The emulator has been closed: it neither moves time nor keeps, restores or copies a state any more. */
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

/** Nothing is stored of what led to the present state. */
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

/** The state is in use by somebody who lives or may live. */
export class StateLockedError extends Error {
  private constructor();
  readonly pid: number;
}

/** A file that holds no state, or a damaged one. */
export class StateFormatError extends Error {
  private constructor();
  /** False when nothing is damaged: it is of another version, or somebody else's. */
  readonly repairable: boolean;
}

/** The state cannot be used as things are on this machine: no room, no rights. */
export class StateAccessError extends Error {
  private constructor();
}
