/**
 * Admits many readers or one writer. A reader waits only while a writer is inside, so a read inside a read never waits
 * for itself. Writers enter in order of arrival.
 */
export class ReadWriteLock {
  #readers = 0;
  #writing = false;
  readonly #waitingReaders: (() => void)[] = [];
  #waitingWriters: { readonly enter: (isInside: boolean) => void; readonly patient: boolean }[] = [];

  /** Whether readers are inside. */
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
    let leave = () => {};
    this.#last = new Promise((resolve) => {
      leave = resolve;
    });
    await before;
    return leave;
  }

  async runExclusive<T>(work: () => Promise<T>): Promise<T> {
    const leave = await this.acquire();
    return work().finally(leave);
  }
}
