import type { WallClock } from "../../../src/base/clock.ts";
import { Mutex } from "../../../src/base/concurrency.ts";
import { AppendLog, type AppendLogOptions } from "../../../src/files/append-log.ts";
import type { LogPosition } from "../../../src/files/log-line.ts";
import type { CommitLog, LogHost } from "../live/live-store.ts";
import type { Change, State } from "../live/state.ts";
import { type Collection, type History, type Moment, StoreChangedError, StoreFailedError } from "../port.ts";
import { formatCommitLine } from "./journal-line.ts";
import { createStoredHistory, type Segment } from "./stored-history.ts";

export interface StoreOptions {
  readonly collections: readonly Collection[];
  readonly wall: WallClock;
  /** Returns fields of each line in addition to its changes (default: none). */
  readonly getMoment?: () => Moment;
  /** A checkpoint is written when the lines after the last checkpoint exceed both this limit and its size. */
  readonly compactAfterBytes?: number;
  /** The maximum size of the history (default: 0, which stores none). */
  readonly historyBytes?: number;
  /**
   * Called with messages for the user: data that is skipped at the start, failed writes, and writes that work again.
   */
  readonly report?: (message: string) => void;
}

export type JournaledLogOptions = Required<StoreOptions>;

export const defaultStoreOptions = { getMoment: (): Moment => ({}), historyBytes: 0, report() {} };

/**
 * A checkpoint and the journal that continues it. It decides when a new checkpoint replaces both. Where they are stored
 * is up to the subclasses.
 */
export abstract class JournaledLog implements CommitLog {
  readonly history: History | undefined;
  /** The state in messages. */
  protected readonly displayName: string;
  protected readonly journal: AppendLog<StoreFailedError>;
  /** Serializes reads and changes of the list of checkpoints. */
  protected readonly checkpointMutex = new Mutex();
  readonly #options: JournaledLogOptions;
  #host: LogHost | undefined;
  #compaction: Promise<void> | undefined;
  #cancellation = new AbortController();
  /** After a failure, the next compaction waits for more data. */
  #failedCompactions = 0;

  constructor(
    displayName: string,
    options: JournaledLogOptions,
    journal: Omit<AppendLogOptions<StoreFailedError>, "createError" | "onFailure">,
  ) {
    this.displayName = displayName;
    this.#options = options;
    this.journal = new AppendLog({
      ...journal,
      createError: (reason, cause) =>
        cause instanceof StoreChangedError ? cause : new StoreFailedError(reason, { cause }),
      onFailure: (failure) => {
        options.report(`${failure.message}${this.describeConsequences(failure)}`);
        this.#host?.onFailure();
      },
    });
    if (options.historyBytes > 0) {
      this.history = createStoredHistory({
        ...options,
        getPosition: () => this.journal.position,
        waitUntilFlushed: () => this.waitUntilFlushed(),
        listSegments: () => this.listSegments(),
        withCheckpointsLocked: (work) => this.checkpointMutex.runExclusive(work),
      });
    }
  }

  abstract replace(state: State, past: LogPosition | undefined, moment?: Moment): Promise<void>;
  abstract retryWrite(state: State): Promise<boolean>;
  abstract close(): Promise<void>;
  /** The end of the message of a failure: what it means for the callers. */
  protected abstract describeConsequences(failure: StoreFailedError): string;
  /** Writes a checkpoint while transactions continue. The signal aborts when the checkpoint is no longer needed. */
  protected abstract compact(state: State, signal: AbortSignal): Promise<void>;
  protected abstract listSegments(): Promise<Segment[]>;
  protected abstract readonly checkpointBytes: number;
  /** Size of the lines after the checkpoint. */
  protected abstract readonly journalBytes: number;

  attach(host: LogHost): void {
    this.#host = host;
  }

  get failure(): StoreFailedError | undefined {
    return this.journal.failure;
  }

  append(changes: readonly Change[], cause: string | undefined): Promise<void> {
    const durable = this.journal.append(formatCommitLine(changes, cause, this.#options.getMoment()));
    const limit = Math.max(this.#options.compactAfterBytes, this.checkpointBytes) * (1 + this.#failedCompactions);
    if (this.journalBytes > limit) void this.runCompaction();
    return durable;
  }

  waitUntilFlushed(): Promise<void> {
    return this.journal.waitUntilDurable();
  }

  protected inspect<T>(work: (state: State) => T): Promise<T> {
    return this.#host!.inspect(work);
  }

  /** Resolves even if the checkpoint could not be written. The failure is reported. */
  protected runCompaction(): Promise<void> {
    this.#compaction ??= this.#compact();
    return this.#compaction;
  }

  async #compact(): Promise<void> {
    const { signal } = this.#cancellation;
    try {
      await this.compact(await this.inspect((state) => state), signal);
      this.#failedCompactions = 0;
    } catch (cause) {
      this.#failedCompactions += 1;
      if (signal.aborted || this.failure) return;
      const { message } = cause as Error;
      this.#options.report(`${this.displayName} could not be compacted. Its journal remains: ${message}`);
    } finally {
      this.#compaction = undefined;
    }
  }

  /** Ends a running compaction, because another state replaces this one or the log is closed. */
  protected cancelCompaction(): void {
    this.#cancellation.abort();
    this.#cancellation = new AbortController();
  }

  protected async waitForCompaction(): Promise<void> {
    await this.#compaction;
  }
}
