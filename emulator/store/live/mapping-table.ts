import type { Mapping } from "../port.ts";
import { PackedMap } from "./packed-map.ts";

/** What `identifiers` belonged to before, in the same order. */
export type Owners = readonly (string | undefined)[];

/** Identifiers and the clusters that own them. A cluster's id is kept once, however many identifiers refer to it. */
export class MappingTable {
  readonly declaration: Mapping;
  readonly #owners = new PackedMap();
  /** By their number in `#owners`; nothing has the number 0. */
  readonly #clusters: (string | undefined)[] = [undefined];
  readonly #numbers = new Map<string, number>();

  constructor(declaration: Mapping) {
    this.declaration = declaration;
  }

  get size(): number {
    return this.#owners.size;
  }

  lookup(identifier: string): string | undefined {
    return this.#clusters[this.#owners.get(identifier)];
  }

  set(identifier: string, cluster: string): void {
    this.#owners.set([identifier], this.#numberOf(cluster));
  }

  /** Many at once, for the start: identifier, cluster, identifier, cluster, … */
  load(pairs: readonly string[]): void {
    let identifiers: string[] = [];
    for (let i = 0; i < pairs.length; i += 2) {
      identifiers.push(pairs[i]!);
      if (pairs[i + 1] === pairs[i + 3]) continue;
      this.#owners.set(identifiers, this.#numberOf(pairs[i + 1]!));
      identifiers = [];
    }
  }

  map(cluster: string, identifiers: readonly string[]): Owners {
    const owner = this.#numberOf(cluster);
    return this.#owners.set(identifiers, owner).map((before) => this.#clusters[before]);
  }

  /** Removes those that belong to the cluster; an `undefined` in the answer stands for one that was left alone. */
  unmap(cluster: string, identifiers: readonly string[]): Owners {
    const owner = this.#numberOf(cluster);
    return identifiers.map((identifier) => {
      if (this.#owners.get(identifier) !== owner) return undefined;
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
      else this.set(identifiers[i]!, owner);
    }
  }

  /** Takes an `unmap` back. */
  undoUnmap(identifiers: readonly string[], before: Owners): void {
    for (const [i, owner] of before.entries()) {
      if (owner !== undefined) this.set(identifiers[i]!, owner);
    }
  }

  /** The entries as they are now, however the table is written to until `end`. */
  picture(): { readonly entries: Generator<[identifier: string, cluster: string], void>; end(): void } {
    const { entries, end } = this.#owners.picture();
    return { entries: this.#named(entries), end };
  }

  *#named(entries: Iterable<[string, number]>): Generator<[identifier: string, cluster: string], void> {
    for (const [identifier, owner] of entries) yield [identifier, this.#clusters[owner]!];
  }

  #numberOf(cluster: string): number {
    const known = this.#numbers.get(cluster);
    if (known !== undefined) return known;
    const number = this.#clusters.push(cluster) - 1;
    this.#numbers.set(cluster, number);
    return number;
  }
}
