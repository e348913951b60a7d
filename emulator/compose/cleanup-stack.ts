import { createDeferred } from "../../src/base/concurrency.ts";

export class CleanupStack {
  readonly #closers: (() => Promise<unknown> | unknown)[] = [];
  readonly #result = createDeferred();
  #running: Promise<void> | undefined;

  constructor() {
    this.done.catch(() => {}); // The caller gets the failure without waiting for the cleanup.
  }

  /** Resolves when everything has ended, whichever call started the cleanup. */
  get done(): Promise<void> {
    return this.#result.promise;
  }

  get hasBegun(): boolean {
    return this.#running !== undefined;
  }

  push(closer: () => Promise<unknown> | unknown): void {
    this.#closers.push(closer);
  }

  /** Runs all closers once. A failing closer does not prevent the others from running; the first failure is thrown. */
  run(): Promise<void> {
    if (!this.#running) {
      this.#running = this.#runAll();
      this.#result.resolve(this.#running);
    }
    return this.#running;
  }

  async #runAll(): Promise<void> {
    const failures: unknown[] = [];
    for (let closer = this.#closers.pop(); closer; closer = this.#closers.pop()) {
      try {
        await closer();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

/** The emulator has been closed: it no longer advances time or stores, restores or copies a state. */
export class EmulatorClosedError extends Error {
  override readonly name = "EmulatorClosedError";

  constructor() {
    super("The emulator is closed. Advance, save or fork it before close()");
  }
}
