import type { Collection, ConsistentContents, StoreFailedError } from "../port.ts";
import type { State } from "./state.ts";

class OvertakenError extends Error {}

interface CompactionOptions {
  readonly name: string;
  /** The journal is compacted when it is larger than this limit and than the checkpoint. */
  readonly compactAfterBytes: number;
  /** Writes a checkpoint while transactions continue. `mayGoOn` throws when the checkpoint is no longer wanted. */
  readonly write: (mayGoOn: () => void) => Promise<void>;
  readonly getFailure: () => StoreFailedError | undefined;
  readonly report: (message: string) => void;
}

/**
 * Decides when a log writes a checkpoint to replace its journal. One compaction runs at a time; after a failure, the
 * next one waits for more data.
 */
export class Compaction {
  readonly #options: CompactionOptions;
  #failed = 0;
  #running: Promise<void> | undefined;
  /** Raised by each `overtake`. */
  #era = 0;

  constructor(options: CompactionOptions) {
    this.#options = options;
  }

  consider(journalBytes: number, baseBytes: number): void {
    const limit = Math.max(this.#options.compactAfterBytes, baseBytes) * (1 + this.#failed);
    if (journalBytes > limit) void this.run();
  }

  /** Resolves even if the checkpoint could not be written; that failure is reported. */
  run(): Promise<void> {
    this.#running ??= this.#write().then(
      () => {
        this.#running = undefined;
        this.#failed = 0;
      },
      (cause) => {
        this.#running = undefined;
        this.#failed += 1;
        const { name, getFailure, report } = this.#options;
        if (cause instanceof OvertakenError || getFailure()) return;
        report(`${name} could not be compacted. Its journal remains: ${(cause as Error).message}`);
      },
    );
    return this.#running;
  }

  /** Resolves when no compaction is running. */
  async waitForEnd(): Promise<void> {
    await this.#running;
  }

  /** Ends a running compaction, because another state replaces this one or the log is closed. */
  overtake(): void {
    this.#era += 1;
  }

  #write(): Promise<void> {
    const era = this.#era;
    return this.#options.write(() => {
      if (era !== this.#era) throw new OvertakenError();
    });
  }
}

export const sliceRows = 4_000;

/** Contents of a state, to be written in slices and read once. */
export interface Contents extends Omit<ConsistentContents, "end"> {
  readonly collections: readonly Collection[];
}

/**
 * A consistent snapshot of the state, unaffected by writes until `end`. Rows are frozen, so a list of references is
 * enough. For mappings, the old values of changed entries are retained.
 */
export function consistentSnapshot(state: State): Contents & ConsistentContents {
  const pictures = [...state.mappings].map(([name, table]) => [name, table.takeSnapshot()] as const);
  return {
    collections: state.collections,
    sequences: new Map(state.sequences),
    rows: new Map([...state.rows].map(([name, table]) => [name, createSlices(table.list({}))])),
    mappings: new Map(pictures.map(([name, { entries }]) => [name, entries])),
    end() {
      for (const [, picture] of pictures) picture.end();
    },
  };
}

function* createSlices(rows: readonly object[]): Generator<readonly object[], void> {
  for (let at = 0; at < rows.length; at += sliceRows) yield rows.slice(at, at + sliceRows);
}
