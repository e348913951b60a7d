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

/**
 * Runs `work` on the items of a stream with at most `concurrency` at a time. The stream is read on demand. The first
 * failure or the signal stops reading. The failure is thrown once all work in flight has ended. Resolves to whether all
 * items were processed.
 */
export async function runConcurrently<T>(
  items: AsyncIterable<T> | Iterable<T>,
  concurrency: number,
  work: (item: T) => Promise<void>,
  signal?: AbortSignal,
): Promise<boolean> {
  const running = new Set<Promise<void>>();
  let isCut = false;
  let failure: { error: unknown } | undefined;
  try {
    if (signal?.aborted) return false;
    for await (const item of items) {
      isCut = failure !== undefined || signal?.aborted === true;
      if (isCut) break;
      const one = work(item)
        .catch((error: unknown) => {
          failure ??= { error };
        })
        .finally(() => running.delete(one));
      running.add(one);
      if (running.size >= concurrency) await Promise.race(running);
    }
  } finally {
    // Work in flight is awaited even if reading fails, because sent requests must be accounted for.
    await Promise.all(running);
  }
  if (failure) throw failure.error;
  return !isCut;
}
