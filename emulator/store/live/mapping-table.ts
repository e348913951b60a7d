import type { Mapping } from "../port.ts";

/** The former owners of `identifiers`, in the same order. */
export type Owners = readonly (string | undefined)[];

/** An undefined value marks a removed mapping. Only layers above the first have such values. */
type Layer = Map<string, string | undefined>;

/**
 * Identifiers and the clusters that own them. While a snapshot is open, the layers that it reads do not change: changes
 * go to a new layer above them, which is merged when the last snapshot ends. So a snapshot takes space for the changes
 * only, not for a copy of everything.
 */
export class MappingTable {
  readonly declaration: Mapping;
  /** Layers from the oldest to the newest. */
  #layers: Layer[] = [new Map()];
  #size = 0;
  #openSnapshots = 0;

  constructor(declaration: Mapping) {
    this.declaration = declaration;
  }

  get size(): number {
    return this.#size;
  }

  lookup(identifier: string): string | undefined {
    for (let i = this.#layers.length - 1; i > 0; i -= 1) {
      const layer = this.#layers[i]!;
      const owner = layer.get(identifier);
      if (owner !== undefined || layer.has(identifier)) return owner;
    }
    return this.#layers[0]!.get(identifier);
  }

  set(identifier: string, cluster: string): string | undefined {
    const before = this.lookup(identifier);
    if (before === undefined) this.#size += 1;
    this.#layers.at(-1)!.set(identifier, cluster);
    return before;
  }

  #delete(identifier: string): void {
    if (this.lookup(identifier) === undefined) return;
    this.#size -= 1;
    const newest = this.#layers.at(-1)!;
    if (this.#layers.length === 1) newest.delete(identifier);
    else newest.set(identifier, undefined);
  }

  map(cluster: string, identifiers: readonly string[]): Owners {
    return identifiers.map((identifier) => this.set(identifier, cluster));
  }

  /** Removes the identifiers that belong to the cluster. In the result, `undefined` marks one that was not removed. */
  unmap(cluster: string, identifiers: readonly string[]): Owners {
    return identifiers.map((identifier) => {
      if (this.lookup(identifier) !== cluster) return undefined;
      this.#delete(identifier);
      return cluster;
    });
  }

  undoMap(identifiers: readonly string[], before: Owners): void {
    // From the end, so that an identifier that occurs twice in the list gets its oldest owner back.
    for (let i = identifiers.length - 1; i >= 0; i -= 1) {
      const owner = before[i];
      if (owner === undefined) this.#delete(identifiers[i]!);
      else this.set(identifiers[i]!, owner);
    }
  }

  undoUnmap(identifiers: readonly string[], before: Owners): void {
    for (const [i, owner] of before.entries()) {
      if (owner !== undefined) this.set(identifiers[i]!, owner);
    }
  }

  /** Returns the entries at this moment, unaffected by writes until `end`. */
  takeSnapshot(): { readonly entries: Generator<[identifier: string, cluster: string], void>; end(): void } {
    const layers = [...this.#layers];
    this.#layers.push(new Map());
    this.#openSnapshots += 1;
    return {
      entries: readLayers(layers),
      end: () => {
        this.#openSnapshots -= 1;
        if (this.#openSnapshots === 0) this.#mergeLayers();
      },
    };
  }

  #mergeLayers(): void {
    const [base, ...newer] = this.#layers;
    for (const layer of newer) {
      for (const [identifier, cluster] of layer) {
        if (cluster === undefined) base!.delete(identifier);
        else base!.set(identifier, cluster);
      }
    }
    this.#layers = [base!];
  }
}

/** For an identifier in several layers, yields the value of the newest at its first position. */
function* readLayers(layers: readonly Layer[]): Generator<[identifier: string, cluster: string], void> {
  for (const [i, layer] of layers.entries()) {
    const older = layers.slice(0, i);
    const newer = layers.slice(i + 1).reverse();
    for (const [identifier, cluster] of layer) {
      if (older.some((item) => item.has(identifier))) continue;
      const owner = newer.find((item) => item.has(identifier));
      const newest = owner ? owner.get(identifier) : cluster;
      if (newest !== undefined) yield [identifier, newest];
    }
  }
}
