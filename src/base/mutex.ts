/** Runs work one after the other, in the order of arrival. */
export class Mutex {
  #last: Promise<void> = Promise.resolve();

  /** Resolves when the mutex is acquired, with a function that releases it. */
  async acquire(): Promise<() => void> {
    const previous = this.#last;
    let release = () => {};
    this.#last = new Promise((resolve) => {
      release = resolve;
    });
    await previous;
    return release;
  }

  async runExclusive<T>(work: () => Promise<T>): Promise<T> {
    const release = await this.acquire();
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Resolves when all work so far has ended. */
  waitUntilIdle(): Promise<void> {
    return this.#last;
  }
}
