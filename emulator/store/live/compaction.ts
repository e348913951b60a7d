import type { Collection, ConsistentContents, StoreFailedError } from "../port.ts";
import type { State } from "./state.ts";

/** A compaction is no longer wanted. */
class OvertakenError extends Error {}

interface Options {
  /** Description of the compacted data, for people. */
  readonly name: string;
  /** The journal is compacted when it is longer than this and than the checkpoint. */
  readonly compactAfterBytes: number;
  /** Writes a checkpoint while transactions continue. `mayGoOn` throws once that is no longer wanted. */
  readonly write: (mayGoOn: () => void) => Promise<void>;
  /** Why nothing can be written. */
  readonly failure: () => StoreFailedError | undefined;
  readonly report: (message: string) => void;
}

/**
 * When a log writes a checkpoint instead of its journal: one at a time, and after each that fails only when there is
 * more.
 */
export class Compaction {
  readonly #options: Options;
  #failed = 0;
  #running: Promise<void> | undefined;
  /** Raised by each `overtake`. */
  #era = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Begins one where it is time. */
  consider(journalBytes: number, baseBytes: number): void {
    const limit = Math.max(this.#options.compactAfterBytes, baseBytes) * (1 + this.#failed);
    if (journalBytes > limit) void this.run();
  }

  /** Resolves also when the checkpoint could not be written; that is reported. */
  run(): Promise<void> {
    this.#running ??= this.#write().then(
      () => {
        this.#running = undefined;
        this.#failed = 0;
      },
      (cause) => {
        this.#running = undefined;
        this.#failed += 1;
        const { name, failure, report } = this.#options;
        if (cause instanceof OvertakenError || failure()) return;
        report(`${name} could not be compacted. Its journal remains: ${(cause as Error).message}`);
      },
    );
    return this.#running;
  }

  /** Resolves once none is under way. */
  async ended(): Promise<void> {
    await this.#running;
  }

  /** Another state replaces this one, or the log is closed: a running compaction gives up. */
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

/** How many rows are written down at a time. */
export const sliceRows = 4_000;

/** Contents of a state, to be written piece by piece; read once. */
export interface Contents extends Omit<ConsistentContents, "end"> {
  readonly collections: readonly Collection[];
}

/**
 * Contents of the present state, however it is written to until `end`. Rows are frozen, so a list of them is enough; of
 * mappings, the former values of those that change meanwhile are retained.
 */
export function consistentSnapshot(state: State): Contents & ConsistentContents {
  const pictures = [...state.mappings].map(([name, table]) => [name, table.takeSnapshot()] as const);
  return {
    collections: state.collections,
    sequences: new Map(state.sequences),
    rows: new Map([...state.rows].map(([name, table]) => [name, slicesOf(table.list({}))])),
    mappings: new Map(pictures.map(([name, { entries }]) => [name, entries])),
    end() {
      for (const [, picture] of pictures) picture.end();
    },
  };
}

function* slicesOf(rows: readonly object[]): Generator<readonly object[], void> {
  for (let at = 0; at < rows.length; at += sliceRows) yield rows.slice(at, at + sliceRows);
}
