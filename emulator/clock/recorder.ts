import type { Store } from "../store/store.ts";
import type { Recording } from "./kind.ts";

interface Waiting {
  readonly record: Recording;
  /** Called once the outcome is in the state. */
  readonly recorded: () => void;
  readonly resolve: (outcome: string) => void;
  readonly reject: (cause: unknown) => void;
}

/**
 * Writes down outcomes, those of one turn of the event loop in one transaction. The next transaction begins while the
 * last one is on its way to the disk.
 */
export class Recorder {
  readonly #store: Store;
  readonly #closing: AbortSignal;
  #waiting: Waiting[] = [];

  /** Nothing is recorded any more once `closing` is aborted. */
  constructor(store: Store, closing: AbortSignal) {
    this.#store = store;
    this.#closing = closing;
  }

  /** Resolves with the outcome once it is durable. Rejects when it could not be recorded; nothing of it stays then. */
  record(record: Recording, recorded: () => void): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ record, recorded, resolve, reject });
      if (this.#waiting.length === 1) setImmediate(() => void this.#write(this.#waiting.splice(0)));
    });
  }

  async #write(batch: readonly Waiting[]): Promise<void> {
    try {
      const outcomes = await this.#store.transaction("schedule.record", async (tx) => {
        this.#closing.throwIfAborted();
        const outcomes: string[] = [];
        for (const { record } of batch) outcomes.push(await record(tx));
        for (const { recorded } of batch) recorded();
        return outcomes;
      });
      for (const [i, { resolve }] of batch.entries()) resolve(outcomes[i]!);
    } catch (cause) {
      const [first, ...others] = batch;
      if (others.length === 0) return first?.reject(cause);
      // One of them spoils it for the others, which must not be lost.
      for (const one of batch) await this.#write([one]);
    }
  }
}
