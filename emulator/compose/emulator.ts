import type { AdvanceResult } from "../clock/advance.ts";
import type { ClockMode } from "../clock/virtual-clock.ts";
import type { EmulatorEvent } from "./activity.ts";
import type { AdvanceTarget } from "./advance-target.ts";
import type { RunningCluster } from "./cluster-parts.ts";

/** A kept state of an emulator. */
export interface Snapshot {
  readonly name: string;
  /** Virtual milliseconds at which it was kept. */
  readonly at: number;
}

/**
 * How far to go back. `to`: a virtual time, milliseconds since the epoch or an ISO time. `before`: to before this cause
 * changed anything, as traces call it (`request:12`). `steps`: to before so many of the last requests and moves of time
 * that changed anything.
 */
export type Rewind = { readonly to: number | string } | { readonly before: string } | { readonly steps: number };

/** A running emulator. `await using emulator = await startEmulator()` closes it at the end of the block. */
export interface Emulator extends AsyncDisposable {
  readonly instanceId: string;
  /** Base URL of the routing service; contract-API paths sent there reach the cluster of the client-id. */
  readonly routerUrl: string;
  /** Base URL of the control plane. */
  readonly controlUrl: string;
  readonly clusters: readonly RunningCluster[];
  /** Token of the control plane. */
  readonly token: string;
  /** Where the state is kept; undefined in memory. */
  readonly file: string | undefined;
  /** Where the state is kept in PostgreSQL, without a password; undefined elsewhere. */
  readonly store: string | undefined;
  readonly clock: {
    /** Virtual milliseconds since the epoch. */
    now(): number;
    /** `real` passes with a speed, `manual` stands until moved, `auto` leaps to what is due. */
    readonly mode: ClockMode;
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
   * Goes back to a snapshot. The state that is left is kept before, as `before-1` and so on, unless it is the same. Fails with SnapshotNotFoundError and
   * InvalidSnapshotError, and then nothing is changed.
   */
  restore(snapshot: string | Pick<Snapshot, "name">): Promise<{ readonly backupSnapshot: string | undefined }>;
  /**
   * Goes back on the way that led to the present state, which is kept before, as `before-1` and so on. Only where the
   * state is kept in a file or a database: fails with HistoryUnavailableError otherwise, with RewindOutOfRangeError where not so much is kept,
   * with RewindTargetInFutureError for a time that lies ahead; then nothing is changed. Where nothing is taken back, nothing is kept.
   */
  rewind(target: Rewind): Promise<{ readonly backupSnapshot: string | undefined }>;
  /**
   * Starts another emulator in this process that begins with the present state: on free ports, in memory, with a clock,
   * inboxes and snapshots of its own. Neither knows of the other; each is closed for itself. Fails with EmulatorClosedError, as
   * all that moves time or keeps a state does, once this one is.
   */
  fork(): Promise<Emulator>;
  /**
   * Tells of every request, attempt to deliver and move of time from now on, in batches; a flood is cut, and counted.
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
}
