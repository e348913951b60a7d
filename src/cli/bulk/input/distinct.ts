import type { IdentifierKind } from "./identifiers.ts";

/** Counts different identifiers. */
export class IdentifierCounter {
  readonly #kind: Pick<IdentifierKind, "key" | "form">;
  readonly #keys = new DistinctCounter();
  readonly #forms = new Set<"address" | "digest" | undefined>();

  constructor(kind: Pick<IdentifierKind, "key" | "form">) {
    this.#kind = kind;
  }

  add(text: string): void {
    this.#keys.add(this.#kind.key(text));
    if (this.#kind.form) this.#forms.add(this.#kind.form(text));
  }

  /** Null where there were too many, and where an address and its digest may be the same one. */
  get count(): number | null {
    const isMixed = this.#forms.has("address") && this.#forms.has("digest");
    return isMixed ? null : (this.#keys.count ?? null);
  }
}

/** Counts different strings, by 64 bits of each: a set of millions of strings would take more memory than all else. */
export class DistinctCounter {
  #slots = new Uint32Array(2 * 1_024);
  #count = 0;

  /** Undefined where there were too many. */
  get count(): number | undefined {
    return this.#slots.length === 0 ? undefined : this.#count;
  }

  add(text: string): void {
    if (this.#slots.length === 0) return;
    let high = 0x9e3779b9;
    let low = 0x85ebca6b ^ text.length;
    for (let i = 0; i < text.length; i += 1) {
      const code = text.charCodeAt(i);
      high = Math.imul(high ^ code, 0x9e3779b1);
      high = (high << 13) | (high >>> 19);
      low = Math.imul(low ^ code, 0x5f356495);
      low = (low << 15) | (low >>> 17);
    }
    high = mixed(high ^ low);
    low = mixed(low ^ Math.imul(high, 0xc2b2ae35));
    // Two zeros are an empty slot.
    if (!this.#put(this.#slots, high >>> 0, (low | 1) >>> 0)) return;
    this.#count += 1;
    if (this.#count * 4 > this.#slots.length * 1.5) this.#grow();
  }

  /** Whether it is a new one. */
  #put(slots: Uint32Array, high: number, low: number): boolean {
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
      if (old[at + 1] !== 0) this.#put(this.#slots, old[at]!, old[at + 1]!);
    }
  }
}

/** Of 8 bytes each: 32 MB, for three million strings. */
const maxSlots = 2 ** 22;

function mixed(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
