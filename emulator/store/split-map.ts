/** A Map of the engine ends at 2^24 keys; before that it is split. */
const splitAt = 16_000_000;

/**
 * A Map of strings without an upper bound: past `limit` keys it is split by the next letter of the key, again and
 * again where needed. A look-up costs one step more per split.
 */
export class SplitMap {
  readonly #depth: number;
  readonly #limit: number;
  #leaf: Map<string, string> | undefined = new Map();
  #children = new Map<string, SplitMap>();

  constructor(limit = splitAt, depth = 0) {
    this.#limit = limit;
    this.#depth = depth;
  }

  get size(): number {
    if (this.#leaf) return this.#leaf.size;
    let size = 0;
    for (const child of this.#children.values()) size += child.size;
    return size;
  }

  get(key: string): string | undefined {
    return this.#leaf ? this.#leaf.get(key) : this.#children.get(key.charAt(this.#depth))?.get(key);
  }

  set(key: string, value: string): void {
    if (this.#leaf === undefined) {
      this.#childOf(key).set(key, value);
      return;
    }
    this.#leaf.set(key, value);
    if (this.#leaf.size > this.#limit) this.#split(this.#leaf);
  }

  delete(key: string): void {
    if (this.#leaf) this.#leaf.delete(key);
    else this.#children.get(key.charAt(this.#depth))?.delete(key);
  }

  /**
   * The entries, while others may be set and deleted between two steps. An entry that stays is visited, one that is
   * set meanwhile is visited or not; when the map is split meanwhile, some are visited twice.
   */
  *entries(): Generator<[key: string, value: string], void> {
    if (this.#leaf) yield* this.#leaf;
    for (const child of this.#children.values()) yield* child.entries();
  }

  #split(leaf: Map<string, string>): void {
    this.#leaf = undefined;
    for (const [key, value] of leaf) this.#childOf(key).set(key, value);
    // Ends an iteration that is under way in it; that goes on in the children.
    leaf.clear();
  }

  #childOf(key: string): SplitMap {
    const letter = key.charAt(this.#depth);
    let child = this.#children.get(letter);
    if (child === undefined) {
      // Keys that end here are equal to one another, so the child without a letter holds at most one.
      child = new SplitMap(this.#limit, this.#depth + 1);
      this.#children.set(letter, child);
    }
    return child;
  }
}
