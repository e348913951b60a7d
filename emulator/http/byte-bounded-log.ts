/** Size of the stored entries, and number of entries dropped to stay below the limit. */
export interface BufferUsage {
  readonly count: number;
  readonly bytes: number;
  readonly max_bytes: number;
  /** Number since the start, or since the log was cleared. */
  readonly dropped: number;
}

/** A log in memory with a limit on the total size of its rows in bytes. The oldest row is dropped first. */
export class ByteBoundedLog<Row> {
  readonly #maxBytes: number;
  #rows: (Row | undefined)[] = [];
  #weights: number[] = [];
  #firstIndex = 0;
  #bytes = 0;
  #droppedCount = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(row: Row, bytes: number): void {
    this.#rows.push(row);
    this.#weights.push(bytes);
    this.#bytes += bytes;
    while (this.#bytes > this.#maxBytes) this.#dropOldest();
  }

  /** Lists the rows, oldest first, without the first `skip` rows. */
  list(skip = 0): Row[] {
    return this.#rows.slice(this.#firstIndex + skip) as Row[];
  }

  clear(): void {
    this.#rows = [];
    this.#weights = [];
    this.#firstIndex = 0;
    this.#bytes = 0;
    this.#droppedCount = 0;
  }

  get amount(): BufferUsage {
    const count = this.#rows.length - this.#firstIndex;
    return { count, bytes: this.#bytes, max_bytes: this.#maxBytes, dropped: this.#droppedCount };
  }

  #dropOldest(): void {
    this.#bytes -= this.#weights[this.#firstIndex]!;
    this.#rows[this.#firstIndex] = undefined;
    this.#firstIndex += 1;
    this.#droppedCount += 1;
    // The array is compacted rarely, so that moving the other rows costs little per row.
    if (2 * this.#firstIndex > this.#rows.length) {
      this.#rows = this.#rows.slice(this.#firstIndex);
      this.#weights = this.#weights.slice(this.#firstIndex);
      this.#firstIndex = 0;
    }
  }
}

/** Estimates the memory of a string: V8's header, its padding, and the pointers to it. */
export const estimateStringBytes = (text: string): number => 40 + text.length;

export const estimateStringsBytes = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + estimateStringBytes(text), 32);
