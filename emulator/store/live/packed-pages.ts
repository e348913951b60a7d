import { textAt, wordsOf } from "./packed-texts.ts";

/** What a page holds, unless one entry alone needs more. */
export const pageBits = 14;
export const pageWords = 1 << pageBits;
/** Before the letters of an entry: its number, and its kind. Before the first entry of a page: nothing is at 0. */
export const headWords = 2;

/** The pages of a PackedMap as far as they are taken. A place in them counts words over all pages. */
export interface Pages {
  readonly pages: readonly Uint32Array[];
  /** Words of the last page that are taken. */
  readonly taken: number;
}

/** The entries that have a number. `numberAt` says which one is meant where it is another than the present one. */
export function* entriesIn(
  { pages, taken }: Pages,
  numberAt: (place: number, present: number) => number = (_, present) => present,
): Generator<[text: string, number: number], void> {
  for (const [i, page] of pages.entries()) {
    const bytes = Buffer.from(page.buffer);
    const end = i === pages.length - 1 ? taken : page.length;
    for (let at = 1; at < end && page[at + 1] !== 0; ) {
      const kind = page[at + 1]!;
      const number = numberAt(i * pageWords + at, page[at]!);
      if (number !== 0) yield [textAt(bytes, 4 * (at + headWords), kind), number];
      at += headWords + wordsOf(kind);
    }
  }
}

/**
 * The entries as they were at one moment, while others are set and deleted: of each that changes before it was visited,
 * the number that it had is kept. So it costs the place of what changes, not a copy of everything.
 */
export class PackedPicture {
  readonly #pages: Pages;
  readonly #end: number;
  /** Numbers of that moment, by place. */
  readonly #kept = new Map<number, number>();
  /** What is before this place was visited. */
  #reached = 0;

  constructor({ pages, taken }: Pages) {
    this.#pages = { pages: [...pages], taken };
    this.#end = (pages.length - 1) * pageWords + Math.min(taken, pageWords);
  }

  /** To be told before the number at a place changes. */
  keep(place: number, number: number): void {
    if (place >= this.#reached && place < this.#end && !this.#kept.has(place)) this.#kept.set(place, number);
  }

  /** Whether the letters at a place, whose number has been kept, are still to be read. */
  needs(place: number): boolean {
    return place >= this.#reached && (this.#kept.get(place) ?? 0) !== 0;
  }

  /** To be gone through once. */
  entries(): Generator<[text: string, number: number], void> {
    return entriesIn(this.#pages, (place, present) => {
      this.#reached = place + 1;
      const kept = this.#kept.get(place);
      if (kept === undefined) return present;
      this.#kept.delete(place);
      return kept;
    });
  }
}
