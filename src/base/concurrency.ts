/** Creates a promise with its functions, as `Promise.withResolvers` of Node 22 does. */
export function createDeferred<T = void>() {
  let resolve!: (value: T | PromiseLike<T>) => void;
  let reject!: (cause: unknown) => void;
  const promise = new Promise<T>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { promise, resolve, reject };
}

/** Runs work one after the other, in the order of arrival. */
export class Mutex {
  #last: Promise<void> = Promise.resolve();

  /** Resolves when the mutex is acquired, with a function that releases it. */
  async acquire(): Promise<() => void> {
    const previous = this.#last;
    const { promise, resolve } = createDeferred();
    this.#last = promise;
    await previous;
    return resolve;
  }

  async runExclusive<T>(work: () => Promise<T>): Promise<T> {
    const release = await this.acquire();
    try {
      return await work();
    } finally {
      release();
    }
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

/** Listeners of one kind of event. They are called in the order in which they were added, and must not block. */
export class Emitter<Event extends readonly unknown[] = []> {
  readonly #listeners = new Set<(...event: Event) => void>();

  /** Calls the listener at each event. Returns a function that removes it. */
  readonly watch = (listener: (...event: Event) => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  emit(...event: Event): void {
    for (const listener of this.#listeners) listener(...event);
  }
}

interface AbortListeners {
  readonly acts: Set<() => void>;
  readonly notifyAll: () => void;
}

/**
 * Callbacks of each signal. A signal has one listener for all callbacks, because Node.js reports more than ten
 * listeners as a leak.
 */
const listenersBySignal = new WeakMap<AbortSignal, AbortListeners>();

/**
 * Calls the function once when the signal is aborted. The signal must not be aborted yet. Returns a function that
 * removes the callback.
 */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  const all = listenersBySignal.get(signal) ?? createAbortListeners(signal);
  // A wrapper allows a caller to register the same function twice.
  const listener = () => act();
  all.acts.add(listener);
  return () => {
    all.acts.delete(listener);
    if (all.acts.size > 0 || listenersBySignal.get(signal) !== all) return;
    listenersBySignal.delete(signal);
    signal.removeEventListener("abort", all.notifyAll);
  };
}

/** Resolves when the signal is aborted, also if it already is. */
export const waitUntilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else onAbort(signal, resolve);
  });

function createAbortListeners(signal: AbortSignal): AbortListeners {
  const acts = new Set<() => void>();
  const notifyAll = () => {
    listenersBySignal.delete(signal);
    for (const act of [...acts]) act();
  };
  signal.addEventListener("abort", notifyAll, { once: true });
  const all = { acts, notifyAll };
  listenersBySignal.set(signal, all);
  return all;
}

/** Creates a setter of a value, and a reader whose result is ignored if either is called again in the meantime. */
export function createLatestReader<Value>(load: () => Promise<Value>, apply: (value: Value) => void) {
  let callCount = 0;
  return {
    set(value: Value): void {
      callCount += 1;
      apply(value);
    },
    async read(): Promise<void> {
      callCount += 1;
      const ownCall = callCount;
      const value = await load();
      if (callCount === ownCall) apply(value);
    },
  };
}
