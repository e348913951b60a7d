/**
 * The body of a response that is held in memory: readers get it once all has come. A stream of Node would deliver it
 * piece by piece, and takes longer to create and read than most responses are.
 */
export class BufferedBody implements AsyncIterable<Uint8Array> {
  readonly #onDestroy: (cause: Error) => void;
  readonly #chunks: Uint8Array[] = [];
  readonly #complete: Promise<void>;
  #end!: () => void;
  #fail!: (cause: Error) => void;
  #isOver = false;

  /** `onDestroy` is called where it is given up before its end, by either side. */
  constructor(onDestroy: (cause: Error) => void) {
    this.#onDestroy = onDestroy;
    this.#complete = new Promise((resolve, reject) => {
      this.#end = resolve;
      this.#fail = reject;
    });
    // Readers get the error; there may be none yet.
    this.#complete.catch(() => {});
  }

  /** Null: that was all. Returns whether more may come at once, which it may. */
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
