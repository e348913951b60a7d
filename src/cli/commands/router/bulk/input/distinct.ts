import { UsageError } from "../../../../process/failure.ts";
import type { IdentifierKind } from "./identifiers.ts";
import type { InputRow } from "./records.ts";

export class IdentifierCounter {
  readonly #kind: IdentifierKind;
  readonly #keys = new DistinctCounter();
  #hasAddress = false;
  #hasDigest = false;

  constructor(kind: IdentifierKind) {
    this.#kind = kind;
  }

  add(text: string): void {
    const { getForm, toKey } = this.#kind;
    if (getForm === undefined) {
      this.#keys.add(toKey(text), false);
      return;
    }
    if (getForm(text) === "digest") this.#hasDigest = true;
    else this.#hasAddress = true;
    // Computing the key of each address would take as long as hashing it.
    if (!this.#keys.add(text, true)) this.#keys.add(toKey(text), false);
  }

  /** Null if there were too many identifiers, or if an address and a digest can be equal. */
  get count(): number | null {
    return this.#hasAddress && this.#hasDigest ? null : (this.#keys.count ?? null);
  }
}

/**
 * Counter of distinct strings. It stores 64 bits of each, because a set of millions of strings would use most of the
 * memory.
 */
class DistinctCounter {
  #slots = new Uint32Array(2 * 1_024);
  #count = 0;

  get count(): number | undefined {
    return this.#slots.length === 0 ? undefined : this.#count;
  }

  /**
   * Adds a string. With `foldsCase`, ASCII capital letters equal small ones. Returns false without counting if there
   * are other capital letters.
   */
  add(text: string, foldsCase: boolean): boolean {
    if (this.#slots.length === 0) return true;
    const { length } = text;
    let high = 0x9e3779b9;
    let low = 0x85ebca6b ^ length;
    for (let i = 0; i < length; i += 2) {
      let first = text.charCodeAt(i);
      let nextCode = i + 1 < length ? text.charCodeAt(i + 1) : 0;
      if (foldsCase) {
        if ((first | nextCode) > 0x7f) return false;
        if (first >= 65 && first <= 90) first += 32;
        if (nextCode >= 65 && nextCode <= 90) nextCode += 32;
      }
      const pair = first | (nextCode << 16);
      high = Math.imul(high ^ pair, 0x9e3779b1);
      high = (high << 13) | (high >>> 19);
      low = Math.imul(low ^ pair, 0x5f356495);
      low = (low << 15) | (low >>> 17);
    }
    high = mixHash(high ^ low);
    low = mixHash(low ^ Math.imul(high, 0xc2b2ae35));
    // Two zeros mark an empty slot.
    if (this.#insert(this.#slots, high >>> 0, (low | 1) >>> 0)) {
      this.#count += 1;
      if (this.#count * 4 > this.#slots.length * 1.5) this.#grow();
    }
    return true;
  }

  #insert(slots: Uint32Array, high: number, low: number): boolean {
    const mask = slots.length - 2;
    for (let at = (high * 2) & mask; ; at = (at + 2) & mask) {
      if (slots[at + 1] === 0) {
        slots[at] = high;
        slots[at + 1] = low;
        return true;
      }
      if (slots[at] === high && slots[at + 1] === low) return false;
    }
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(old.length >= maxSlots * 2 ? 0 : old.length * 2);
    if (this.#slots.length === 0) return;
    for (let at = 0; at < old.length; at += 2) {
      if (old[at + 1] !== 0) this.#insert(this.#slots, old[at]!, old[at + 1]!);
    }
  }
}

/** A slot has 8 bytes. Three million strings take 32 MB. */
const maxSlots = 2 ** 22;

function mixHash(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/** One of several runs that share an input. */
export interface InputShard {
  readonly index: number;
  readonly of: number;
}

export function parseShard(text: string): InputShard {
  const [index, count] = /^(\d+)\/(\d+)$/.exec(text)?.slice(1).map(Number) ?? [];
  if (!index || !count || index > count) throw new UsageError(`--shard must be a share (3/16), got "${text}"`);
  return { index, of: count };
}

/**
 * Yields every `of`-th row from the `index`-th on and skips the others. Rows are distributed instead of batches, so
 * that runs with different batch sizes still cover every row once.
 */
export async function* selectShare(
  groups: AsyncIterable<readonly InputRow[]>,
  { index, of: count }: InputShard,
): AsyncGenerator<readonly InputRow[]> {
  let ordinal = 0;
  for await (const rows of groups) {
    yield rows.filter(() => {
      ordinal += 1;
      return (ordinal - index) % count === 0;
    });
  }
}
