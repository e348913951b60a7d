/**
 * Lets many readers in, or one writer. A reader waits only while a writer is inside, so a read inside a read never
 * waits for itself; writers go in the order in which they came.
 */
export class Gate {
  #readers = 0;
  #writing = false;
  readonly #waitingReaders: (() => void)[] = [];
  readonly #waitingWriters: (() => void)[] = [];

  /** Enters as a reader if nothing is in the way. */
  tryEnterShared(): boolean {
    if (this.#writing) return false;
    this.#readers += 1;
    return true;
  }

  async enterShared(): Promise<void> {
    // Whoever opens the gate counts the reader in, so that no writer slips between.
    if (!this.tryEnterShared()) await new Promise<void>((enter) => this.#waitingReaders.push(enter));
  }

  leaveShared(): void {
    this.#readers -= 1;
    if (this.#readers === 0) this.#letWriterIn();
  }

  async enterAlone(): Promise<void> {
    if (this.#writing || this.#readers > 0 || this.#waitingWriters.length > 0) {
      await new Promise<void>((enter) => this.#waitingWriters.push(enter));
    } else {
      this.#writing = true;
    }
  }

  leaveAlone(): void {
    this.#writing = false;
    if (this.#waitingReaders.length > 0) {
      this.#readers += this.#waitingReaders.length;
      for (const enter of this.#waitingReaders.splice(0)) enter();
    } else {
      this.#letWriterIn();
    }
  }

  #letWriterIn(): void {
    const enter = this.#waitingWriters.shift();
    if (enter === undefined) return;
    this.#writing = true;
    enter();
  }
}
