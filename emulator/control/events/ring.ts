/** An event as it is sent, with its number. */
export interface Numbered {
  readonly number: number;
  readonly text: string;
}

/** The newest events of an emulator: no more than so many, and no more text than that; the oldest leave first. */
export class EventRing {
  readonly #most: { readonly count: number; readonly length: number };
  #events: Numbered[] = [];
  #length = 0;
  #last = 0;
  #dropped = 0;

  constructor(most = { count: 5_000, length: 2 * 1024 * 1024 }) {
    this.#most = most;
  }

  /** The number that was given last. */
  get last(): number {
    return this.#last;
  }

  get amount() {
    const { length: count } = this.#events;
    return { count, bytes: this.#length, max_bytes: this.#most.length, dropped: this.#dropped };
  }

  /** `textOf` is told the number of the event. */
  add(textOf: (number: number) => string): void {
    this.#last += 1;
    const text = textOf(this.#last);
    this.#events.push({ number: this.#last, text });
    this.#length += text.length;
    if (this.#events.length > this.#most.count || this.#length > this.#most.length) this.#dropOldest();
  }

  /** Those after a number; undefined where one of them is not here any more, or was never told. */
  after(number: number): readonly Numbered[] | undefined {
    const oldest = this.#last - this.#events.length + 1;
    if (number < oldest - 1 || number > this.#last) return undefined;
    return this.#events.slice(number + 1 - oldest);
  }

  /** Something is told to nobody: whoever stands before it must learn of that. */
  interrupt(): void {
    this.#dropped += this.#events.length;
    this.#events = [];
    this.#length = 0;
    this.#last += 1;
  }

  /** A tenth more than must be, so that moving the others costs next to nothing for each. */
  #dropOldest(): void {
    const { count, length } = this.#most;
    let gone = 0;
    let left = this.#length;
    while (this.#events.length - gone > 0.9 * count || left > 0.9 * length) {
      left -= this.#events[gone]!.text.length;
      gone += 1;
    }
    this.#events = this.#events.slice(gone);
    this.#length = left;
    this.#dropped += gone;
  }
}
