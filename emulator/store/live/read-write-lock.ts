/**
 * Admits many readers or one writer. A reader waits only while a writer has the lock, so a read inside a read never
 * waits for itself. Writers acquire the lock in the order of arrival.
 */
export class ReadWriteLock {
  #readers = 0;
  #isWriting = false;
  readonly #waitingReaders: (() => void)[] = [];
  #waitingWriters: { readonly enter: (isAdmitted: boolean) => void; readonly isPatient: boolean }[] = [];

  get isShared(): boolean {
    return this.#readers > 0;
  }

  /** Acquires the lock as a reader if no writer has it. */
  tryAcquireShared(): boolean {
    if (this.#isWriting) return false;
    this.#readers += 1;
    return true;
  }

  async acquireShared(): Promise<void> {
    // The caller that releases the lock counts the reader, so that no writer can acquire it in between.
    if (!this.tryAcquireShared()) await new Promise<void>((enter) => this.#waitingReaders.push(enter));
  }

  releaseShared(): void {
    this.#readers -= 1;
    if (this.#readers === 0) this.#admitWriter();
  }

  /** Acquires the lock as the writer if it is free. */
  tryAcquireExclusive(): boolean {
    if (this.#isWriting || this.#readers > 0 || this.#waitingWriters.length > 0) return false;
    this.#isWriting = true;
    return true;
  }

  /**
   * Resolves with true when the writer has the lock, and with false when it was rejected. A patient writer is never
   * rejected.
   */
  async acquireExclusive(isPatient = true): Promise<boolean> {
    return this.tryAcquireExclusive() || new Promise((enter) => this.#waitingWriters.push({ enter, isPatient }));
  }

  /** Rejects waiting writers that are not patient. */
  cancelWaiting(): void {
    const impatientWriters = this.#waitingWriters.filter(({ isPatient }) => !isPatient);
    this.#waitingWriters = this.#waitingWriters.filter(({ isPatient }) => isPatient);
    for (const { enter } of impatientWriters) enter(false);
  }

  releaseExclusive(): void {
    this.#isWriting = false;
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
    this.#isWriting = true;
    next.enter(true);
  }
}
