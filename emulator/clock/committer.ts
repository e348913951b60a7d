import type { Store } from "../store/port.ts";
import type { Commit } from "./job-handler.ts";

/** Work that is done and is to be written down. */
export interface Uncommitted {
  readonly record: Commit;
}

/** What becomes of those that were written down together. */
export interface CommitObserver<One extends Uncommitted> {
  /** Their outcomes are in the state. */
  inState(batch: readonly One[]): void;
  /** Their outcomes, in a word each, are durable. */
  durable(batch: readonly One[], outcomes: readonly string[]): void;
  /** Nothing of its outcome stays. */
  failed(one: One, cause: unknown): void;
}

/**
 * Writes down outcomes, those of one turn of the event loop in one transaction. The next transaction begins while the
 * last one is on its way to the disk.
 */
export class Committer<One extends Uncommitted> {
  readonly #store: Store;
  readonly #closing: AbortSignal;
  readonly #recorded: CommitObserver<One>;
  readonly #waiting: One[] = [];

  /** Nothing is recorded any more once `closing` is aborted. */
  constructor(store: Store, closing: AbortSignal, recorded: CommitObserver<One>) {
    this.#store = store;
    this.#closing = closing;
    this.#recorded = recorded;
  }

  add(one: One): void {
    this.#waiting.push(one);
    if (this.#waiting.length === 1) setImmediate(() => void this.#write(this.#waiting.splice(0)));
  }

  async #write(batch: readonly One[]): Promise<void> {
    let outcomes: readonly string[];
    try {
      outcomes = await this.#store.transaction("schedule.record", async (tx) => {
        this.#closing.throwIfAborted();
        const outcomes: string[] = [];
        for (const { record } of batch) outcomes.push(await record(tx));
        this.#recorded.inState(batch);
        return outcomes;
      });
    } catch (cause) {
      const [first, ...others] = batch;
      if (first && others.length === 0) return this.#recorded.failed(first, cause);
      // One of them spoils it for the others, which must not be lost.
      for (const one of batch) await this.#write([one]);
      return;
    }
    this.#recorded.durable(batch, outcomes);
  }
}
