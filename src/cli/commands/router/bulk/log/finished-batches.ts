/**
 * Which batches of a job are finished. Batches run side by side, so they are not a prefix of the input: all below the
 * low-water mark are finished, and some above it (DECISIONS.md, L16).
 */
export class FinishedBatches {
  #low = 0;
  readonly #above = new Set<number>();
  /** Rolling digests of the batch just below the mark and of those above it: enough to know the input again. */
  readonly #digests = new Map<number, string>();

  /** The first batch that is not finished. */
  get low(): number {
    return this.#low;
  }

  get count(): number {
    return this.#low + this.#above.size;
  }

  /** Behind the last one that is finished. */
  get end(): number {
    return this.#above.size === 0 ? this.#low : Math.max(...this.#above) + 1;
  }

  has(index: number): boolean {
    return index < this.#low || this.#above.has(index);
  }

  digestOf(index: number): string | undefined {
    return this.#digests.get(index);
  }

  add(index: number, digest?: string): void {
    this.#above.add(index);
    if (digest !== undefined) this.#digests.set(index, digest);
    while (this.#above.delete(this.#low)) {
      this.#digests.delete(this.#low - 1);
      this.#low += 1;
    }
  }
}
