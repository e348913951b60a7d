/**
 * Response body in memory. A Node.js stream delivers chunks and is slower to create and to read than most responses
 * take.
 */
export class BufferedBody implements AsyncIterable<Uint8Array> {
  readonly #onDestroy: (cause: Error) => void;
  readonly #chunks: Uint8Array[] = [];
  readonly #complete: Promise<void>;
  #end!: () => void;
  #fail!: (cause: Error) => void;
  #isOver = false;

  /** `onDestroy` is called if the sender or the reader aborts before the end. */
  constructor(onDestroy: (cause: Error) => void) {
    this.#onDestroy = onDestroy;
    this.#complete = new Promise((resolve, reject) => {
      this.#end = resolve;
      this.#fail = reject;
    });
    // Readers get the error. Without a reader, the rejection would be unhandled.
    this.#complete.catch(() => {});
  }

  /** Adds a chunk; null marks the end. Always returns true, because more chunks can follow immediately. */
  push(chunk: Uint8Array | null): true {
    if (this.#isOver) return true;
    if (chunk !== null) {
      this.#chunks.push(chunk);
    } else {
      this.#isOver = true;
      this.#end();
    }
    return true;
  }

  destroy(cause = new Error("the reader has stopped")): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#chunks.length = 0;
    this.#fail(cause);
    this.#onDestroy(cause);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      await this.#complete;
      yield* this.#chunks;
    } finally {
      this.destroy();
    }
  }
}
