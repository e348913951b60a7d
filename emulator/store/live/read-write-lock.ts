import type { WallClock } from "../../../src/base/clock.ts";

/**
 * Admits many readers or one writer. A reader waits only while a writer is inside, so a read inside a read never waits
 * for itself. Writers enter in order of arrival.
 */
export class ReadWriteLock {
  #readers = 0;
  #writing = false;
  readonly #waitingReaders: (() => void)[] = [];
  #waitingWriters: { readonly enter: (isInside: boolean) => void; readonly patient: boolean }[] = [];

  get isShared(): boolean {
    return this.#readers > 0;
  }

  /** Enters as a reader if no writer is inside. */
  tryAcquireShared(): boolean {
    if (this.#writing) return false;
    this.#readers += 1;
    return true;
  }

  async acquireShared(): Promise<void> {
    // The caller that opens the lock counts the reader, so that no writer can enter in between.
    if (!this.tryAcquireShared()) await new Promise<void>((enter) => this.#waitingReaders.push(enter));
  }

  releaseShared(): void {
    this.#readers -= 1;
    if (this.#readers === 0) this.#admitWriter();
  }

  /** Enters as the writer if the lock is free. */
  tryAcquireExclusive(): boolean {
    if (this.#writing || this.#readers > 0 || this.#waitingWriters.length > 0) return false;
    this.#writing = true;
    return true;
  }

  /**
   * Resolves with true when the writer is inside, and with false when it was rejected. A patient writer is never
   * rejected.
   */
  async acquireExclusive(patient = true): Promise<boolean> {
    return this.tryAcquireExclusive() || new Promise((enter) => this.#waitingWriters.push({ enter, patient }));
  }

  /** Rejects waiting writers that are not patient. */
  cancelWaiting(): void {
    const impatient = this.#waitingWriters.filter(({ patient }) => !patient);
    this.#waitingWriters = this.#waitingWriters.filter(({ patient }) => patient);
    for (const { enter } of impatient) enter(false);
  }

  releaseExclusive(): void {
    this.#writing = false;
    if (this.#waitingReaders.length > 0) {
      this.#readers += this.#waitingReaders.length;
      for (const enter of this.#waitingReaders.splice(0)) enter();
    } else {
      this.#admitWriter();
    }
  }

  #admitWriter(): void {
    const next = this.#waitingWriters.shift();
    if (next === undefined) return;
    this.#writing = true;
    next.enter(true);
  }
}

/** Runs holders one after the other, in order of arrival. */
export class Mutex {
  #last: Promise<void> = Promise.resolve();

  /** Resolves when the mutex is acquired, with a function that releases it. */
  async acquire(): Promise<() => void> {
    const before = this.#last;
    let release = () => {};
    this.#last = new Promise((resolve) => {
      release = resolve;
    });
    await before;
    return release;
  }

  async runExclusive<T>(work: () => Promise<T>): Promise<T> {
    const release = await this.acquire();
    return work().finally(release);
  }
}

/**
 * Ends work that stays open too long. It uses one pending sleep instead of a timer per transaction, which would slow
 * every write. The sleep may outlive its transaction, and no process waits for it.
 */
export class Watchdog {
  readonly #wall: WallClock;
  readonly #limitMs: number;
  readonly #stop = new AbortController();
  #current: { readonly since: number; readonly expire: () => void } | undefined;
  #sleeping = false;

  constructor(wall: WallClock, limitMs: number) {
    this.#wall = wall;
    this.#limitMs = limitMs;
  }

  /** Calls `expire` once if `release` is not called within the limit. */
  guard(expire: () => void): void {
    this.#current = { since: this.#wall.monotonicNow(), expire };
    if (!this.#sleeping) void this.#watch();
  }

  /** Like `guard`, but existing guards stay. */
  guardUnlessGuarded(expire: () => void): void {
    if (this.#current === undefined) this.guard(expire);
  }

  release(): void {
    this.#current = undefined;
  }

  stop(): void {
    this.#stop.abort();
  }

  async #watch(): Promise<void> {
    this.#sleeping = true;
    let left = this.#limitMs;
    while (left > 0) {
      await this.#wall.sleep(left, this.#stop.signal, { inBackground: true });
      if (this.#stop.signal.aborted || this.#current === undefined) break;
      left = this.#current.since + this.#limitMs - this.#wall.monotonicNow();
    }
    this.#sleeping = false;
    if (left > 0) return;
    this.#current?.expire();
    this.#current = undefined;
  }
}
