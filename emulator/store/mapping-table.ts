import { SplitMap } from "./split-map.ts";
import type { Mapping } from "./store.ts";

/** What `identifiers` belonged to before, in the same order. */
export type Owners = readonly (string | undefined)[];

/** Identifiers and the clusters that own them. One string per cluster id, however many identifiers refer to it. */
export class MappingTable {
  readonly declaration: Mapping;
  readonly #owners = new SplitMap();
  readonly #clusters = new Map<string, string>();

  constructor(declaration: Mapping) {
    this.declaration = declaration;
  }

  get size(): number {
    return this.#owners.size;
  }

  lookup(identifier: string): string | undefined {
    return this.#owners.get(identifier);
  }

  set(identifier: string, cluster: string): void {
    this.#owners.set(identifier, this.#intern(cluster));
  }

  /** Many at once, for the start: identifier, cluster, identifier, cluster, … */
  load(pairs: readonly string[]): void {
    let last = "";
    let owner = "";
    for (let i = 0; i < pairs.length; i += 2) {
      const cluster = pairs[i + 1]!;
      if (cluster !== last) {
        last = cluster;
        owner = this.#intern(cluster);
      }
      this.#owners.set(pairs[i]!, owner);
    }
  }

  map(cluster: string, identifiers: readonly string[]): Owners {
    const owner = this.#intern(cluster);
    return identifiers.map((identifier) => {
      const before = this.#owners.get(identifier);
      if (before !== owner) this.#owners.set(identifier, owner);
      return before;
    });
  }

  /** Removes those that belong to the cluster; an `undefined` in the answer stands for one that was left alone. */
  unmap(cluster: string, identifiers: readonly string[]): Owners {
    return identifiers.map((identifier) => {
      if (this.#owners.get(identifier) !== cluster) return undefined;
      this.#owners.delete(identifier);
      return cluster;
    });
  }

  /** Takes a `map` back. */
  undoMap(identifiers: readonly string[], before: Owners): void {
    // From the end: an identifier that stands in the list twice gets its oldest owner back.
    for (let i = identifiers.length - 1; i >= 0; i -= 1) {
      const owner = before[i];
      if (owner === undefined) this.#owners.delete(identifiers[i]!);
      else this.#owners.set(identifiers[i]!, owner);
    }
  }

  /** Takes an `unmap` back. */
  undoUnmap(identifiers: readonly string[], before: Owners): void {
    for (const [i, owner] of before.entries()) {
      if (owner !== undefined) this.#owners.set(identifiers[i]!, owner);
    }
  }

  /** See SplitMap for what this promises while others write. */
  entries(): Generator<[identifier: string, cluster: string], void> {
    return this.#owners.entries();
  }

  #intern(cluster: string): string {
    const known = this.#clusters.get(cluster);
    if (known !== undefined) return known;
    this.#clusters.set(cluster, cluster);
    return cluster;
  }
}
