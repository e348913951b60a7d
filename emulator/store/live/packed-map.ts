import { entriesIn, headWords, PackedPicture, pageBits, pageWords } from "./packed-pages.ts";
import { PackedTexts, wordsOf } from "./packed-texts.ts";

/** So many at a time: what they need stays in the CPU's cache meanwhile. */
const atATime = 1_000;

/**
 * A map from texts to numbers from 1 on, without an object per entry: the letters lie in pages of bytes, and a table of
 * hashes says where. The garbage collector sees none of it, and a look-up touches two places in memory, where a Map of
 * a million texts touches about five, each a miss of the CPU's cache. It holds up to 16 GB of texts. By hand: maps of packages keep an object for each entry, too.
 */
export class PackedMap {
  /** Hash, place, hash, place, …: open addressing. A place counts words over all pages; 0 is a free slot. */
  #slots = new Uint32Array(2 * 64);
  #size = 0;
  readonly #pages: Uint32Array[] = [];
  /** Words of the last page that are taken. */
  #taken = pageWords;
  /** Places of deleted entries by their size in words, for others of that size. */
  readonly #deleted = new Map<number, number[]>();
  readonly #pictures = new Set<PackedPicture>();
  /** Places of deleted entries that pictures still need. */
  #withheld: number[] = [];
  readonly #sought = new PackedTexts();
  /** What `#lookAhead` came upon. Nobody asks, but a look that leads to nothing is left out by the compiler. */
  seen = 0;

  get size(): number {
    return this.#size;
  }

  /** The number of a text; 0 when there is none. */
  get(text: string): number {
    this.#sought.pack([text]);
    const place = this.#slots[this.#slotOf(0) + 1]!;
    return place === 0 ? 0 : this.#pageOf(place)[place & (pageWords - 1)]!;
  }

  /** Gives texts a number. Says which they had before; 0 when none. */
  set(texts: readonly string[], number: number): number[] {
    const before: number[] = [];
    for (let at = 0; at < texts.length; at += atATime) {
      const some = texts.length <= atATime ? texts : texts.slice(at, at + atATime);
      this.#sought.pack(some);
      this.#lookAhead(some.length);
      for (let i = 0; i < some.length; i += 1) {
        const slot = this.#slotOf(i);
        const place = this.#slots[slot + 1] || this.#add(slot, i);
        const page = this.#pageOf(place);
        const old = page[place & (pageWords - 1)]!;
        before.push(old);
        if (this.#pictures.size > 0) this.#keep(place, old);
        page[place & (pageWords - 1)] = number;
      }
    }
    return before;
  }

  delete(text: string): void {
    this.#sought.pack([text]);
    const slot = this.#slotOf(0);
    const place = this.#slots[slot + 1]!;
    if (place === 0) return;
    const page = this.#pageOf(place);
    if (this.#pictures.size > 0) this.#keep(place, page[place & (pageWords - 1)]!);
    page[place & (pageWords - 1)] = 0;
    if ([...this.#pictures].some((picture) => picture.needs(place))) this.#withheld.push(place);
    else this.#giveBack(place);
    this.#size -= 1;
    this.#freeSlot(slot);
  }

  /**
   * The entries, while others may be set and deleted between two steps. An entry that stays is visited, one that is
   * set meanwhile is visited or not; never so many that it would not end.
   */
  entries(): Generator<[text: string, number: number], void> {
    return entriesIn({ pages: [...this.#pages], taken: this.#taken });
  }

  /** The entries as they are now, whatever is set and deleted until `end`. */
  picture(): { readonly entries: Generator<[text: string, number: number], void>; end(): void } {
    const picture = new PackedPicture({ pages: this.#pages, taken: this.#taken });
    this.#pictures.add(picture);
    return {
      entries: picture.entries(),
      end: () => {
        this.#pictures.delete(picture);
        if (this.#pictures.size > 0) return;
        for (const place of this.#withheld) this.#giveBack(place);
        this.#withheld = [];
      },
    };
  }

  #keep(place: number, number: number): void {
    for (const picture of this.#pictures) picture.keep(place, number);
  }

  /** The place of a deleted entry is free for another. */
  #giveBack(place: number): void {
    const words = wordsOf(this.#pageOf(place)[(place & (pageWords - 1)) + 1]!);
    const alike = this.#deleted.get(words);
    if (alike) alike.push(place);
    else this.#deleted.set(words, [place]);
  }

  #pageOf(place: number): Uint32Array {
    return this.#pages[place >>> pageBits]!;
  }

  /** The slot that leads to a sought text, or the free one that would. */
  #slotOf(i: number): number {
    const slots = this.#slots;
    const hash = this.#sought.hashes[i]!;
    let slot = homeOf(hash, slots);
    for (let place = slots[slot + 1]!; place !== 0; place = slots[slot + 1]!) {
      if (slots[slot] === hash && this.#isAt(place, i)) break;
      slot = (slot + 2) & (slots.length - 1);
    }
    return slot;
  }

  /** Whether a sought text lies there. */
  #isAt(place: number, i: number): boolean {
    const { kinds, words, begins } = this.#sought;
    const page = this.#pageOf(place);
    const at = (place & (pageWords - 1)) + headWords;
    const kind = kinds[i]!;
    if (page[at - 1] !== kind) return false;
    const begin = begins[i]!;
    for (let k = wordsOf(kind) - 1; k >= 0; k -= 1) if (page[at + k] !== words[begin + k]) return false;
    return true;
  }

  /** Touches the slots of all sought texts, so that the CPU waits for many at once and not for each in turn. */
  #lookAhead(count: number): void {
    const slots = this.#slots;
    const { hashes } = this.#sought;
    let seen = 0;
    for (let i = 0; i < count; i += 1) seen ^= slots[homeOf(hashes[i]!, slots)]!;
    this.seen = seen;
  }

  /** Writes a sought text and leads a free slot to it; its number is 0 still. Returns its place. */
  #add(slot: number, i: number): number {
    const { kinds, hashes, words, begins } = this.#sought;
    const kind = kinds[i]!;
    const count = wordsOf(kind);
    const place = this.#deleted.get(count)?.pop() ?? this.#take(headWords + count);
    const page = this.#pageOf(place);
    const at = (place & (pageWords - 1)) + headWords;
    const begin = begins[i]!;
    page[at - 1] = kind;
    for (let k = 0; k < count; k += 1) page[at + k] = words[begin + k]!;
    this.#slots[slot] = hashes[i]!;
    this.#slots[slot + 1] = place;
    this.#size += 1;
    // At most three quarters full.
    if (8 * this.#size > 3 * this.#slots.length) this.#grow();
    return place;
  }

  /** Takes words at the end of the last page or, where they do not fit, of a new one. */
  #take(words: number): number {
    if (this.#taken + words > pageWords) {
      this.#pages.push(new Uint32Array(Math.max(pageWords, 1 + words)));
      this.#taken = 1;
    }
    const place = (this.#pages.length - 1) * pageWords + this.#taken;
    this.#taken += words;
    return place;
  }

  #grow(): void {
    const old = this.#slots;
    const slots = new Uint32Array(2 * old.length);
    for (let from = 0; from < old.length; from += 2) {
      if (old[from + 1] === 0) continue;
      let slot = homeOf(old[from]!, slots);
      while (slots[slot + 1] !== 0) slot = (slot + 2) & (slots.length - 1);
      slots[slot] = old[from]!;
      slots[slot + 1] = old[from + 1]!;
    }
    this.#slots = slots;
  }

  /** Frees a slot, and moves up those behind it that a search would otherwise no longer reach. */
  #freeSlot(slot: number): void {
    const slots = this.#slots;
    const last = slots.length - 1;
    let gap = slot;
    for (let next = (gap + 2) & last; slots[next + 1] !== 0; next = (next + 2) & last) {
      const home = homeOf(slots[next]!, slots);
      if (((next - home) & last) < ((next - gap) & last)) continue;
      slots[gap] = slots[next]!;
      slots[gap + 1] = slots[next + 1]!;
      gap = next;
    }
    slots[gap + 1] = 0;
  }
}

/** Where the search for a hash begins. */
const homeOf = (hash: number, slots: Uint32Array): number => (hash << 1) & (slots.length - 2);
