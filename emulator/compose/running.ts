import type { Advanced } from "../clock/advance.ts";
import type { ClockMode } from "../clock/virtual-clock.ts";
import type { EmulatorEvent } from "./activity.ts";
import type { Move } from "./move.ts";

/** A cluster of a running emulator, with the API key of its first workspace. */
export interface RunningCluster {
  readonly id: string;
  /** Origin of its listener: the base URL of the contract API. */
  readonly url: string;
  readonly clusterKey: string;
  readonly external: boolean;
  /** Undefined where the cluster has no workspace. */
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
  readonly hmacKey: string | undefined;
}

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
  readonly clock: {
    /** Virtual milliseconds since the epoch. */
    now(): number;
    /** `real` passes with a speed, `manual` stands until moved, `auto` leaps to what is due. */
    readonly mode: ClockMode;
    /** Virtual seconds per second, in mode `real`. */
    readonly speed: number;
    /** Moves virtual time and runs everything that becomes due on the way. */
    advance(target: Move): Promise<Advanced>;
  };
  /**
   * Tells of every request, attempt to deliver and move of time from now on, in batches; a flood is cut, and counted.
   * The next batch comes once the listener is done with the last one. Returns the function that ends it, which resolves
   * after the last batch.
   */
  watch(tell: (events: readonly EmulatorEvent[]) => Promise<void> | void): () => Promise<void>;
  /** Resolves when it has ended, whoever ended it. */
  readonly closed: Promise<void>;
  /**
   * Stops accepting, runs what is due now for at most 5 s, keeps the rest for the next start. Once `hurry` is aborted it
   * waits for nothing any more.
   */
  close(options?: { readonly hurry?: AbortSignal }): Promise<void>;
}
