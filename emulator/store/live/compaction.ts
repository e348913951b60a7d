import type { ConsistentContents, StoreFailedError } from "../port.ts";
import type { State } from "./state.ts";

interface CompactionOptions {
  readonly name: string;
  /** The journal is compacted when it is larger than this limit and than the checkpoint. */
  readonly compactAfterBytes: number;
  /** Writes a checkpoint while transactions continue. The signal aborts when the checkpoint is no longer needed. */
  readonly write: (signal: AbortSignal) => Promise<void>;
  readonly getFailure: () => StoreFailedError | undefined;
  readonly report: (message: string) => void;
}

/**
 * Decides when a log writes a checkpoint to replace its journal. One compaction runs at a time. After a failure, the
 * next compaction waits for more data.
 */
export class Compaction {
  readonly #options: CompactionOptions;
  #failureCount = 0;
  #running: Promise<void> | undefined;
  #cancellation = new AbortController();

  constructor(options: CompactionOptions) {
    this.#options = options;
  }

  runIfDue(journalBytes: number, baseBytes: number): void {
    const limit = Math.max(this.#options.compactAfterBytes, baseBytes) * (1 + this.#failureCount);
    if (journalBytes > limit) void this.run();
  }

  /** Resolves even if the checkpoint could not be written. The failure is reported. */
  run(): Promise<void> {
    this.#running ??= this.#run();
    return this.#running;
  }

  async #run(): Promise<void> {
    const { name, write, getFailure, report } = this.#options;
    const { signal } = this.#cancellation;
    try {
      await write(signal);
      this.#failureCount = 0;
    } catch (cause) {
      this.#failureCount += 1;
      if (!signal.aborted && !getFailure())
        report(`${name} could not be compacted. Its journal remains: ${(cause as Error).message}`);
    } finally {
      this.#running = undefined;
    }
  }

  /** Resolves when no compaction is running. */
  async waitForEnd(): Promise<void> {
    await this.#running;
  }

  /** Ends a running compaction, because another state replaces this one or the log is closed. */
  cancel(): void {
    this.#cancellation.abort();
    this.#cancellation = new AbortController();
  }
}

export const sliceRows = 4_000;

/**
 * A consistent snapshot of the state, unaffected by writes until `end`. Rows are frozen, so a list of references is
 * enough. For mappings, the old values of changed entries are retained.
 */
export function takeSnapshot(state: State): ConsistentContents {
  const mappings = [...state.mappings].map(([name, table]) => [name, table.takeSnapshot()] as const);
  return {
    collections: state.collections,
    sequences: new Map(state.sequences),
    rows: new Map([...state.rows].map(([name, table]) => [name, createSlices(table.list({}))])),
    mappings: new Map(mappings.map(([name, { entries }]) => [name, entries])),
    end() {
      for (const [, snapshot] of mappings) snapshot.end();
    },
  };
}

function* createSlices(rows: readonly object[]): Generator<readonly object[], void> {
  for (let start = 0; start < rows.length; start += sliceRows) yield rows.slice(start, start + sliceRows);
}
