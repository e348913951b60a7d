import type { Mapping } from "../port.ts";

/** The former owners of `identifiers`, in the same order. */
export type Owners = readonly (string | undefined)[];

/** An undefined value marks a removed mapping. Only layers above the first have such values. */
type Layer = Map<string, string | undefined>;

/**
 * Identifiers and the clusters that own them. While a snapshot is open, the layers that it reads do not change: changes
 * go to a new layer above them, which is merged when the last snapshot ends. A snapshot therefore only takes memory for
 * the changes, and not for a copy.
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
    const previous = this.lookup(identifier);
    if (previous === undefined) this.#size += 1;
    this.#layers.at(-1)!.set(identifier, cluster);
    return previous;
  }

  #delete(identifier: string): void {
    if (this.lookup(identifier) === undefined) return;
    this.#size -= 1;
    const newestLayer = this.#layers.at(-1)!;
    if (this.#layers.length === 1) newestLayer.delete(identifier);
    else newestLayer.set(identifier, undefined);
  }

  map(cluster: string, identifiers: readonly string[]): Owners {
    return identifiers.map((identifier) => this.set(identifier, cluster));
  }

  /**
   * Removes the identifiers that belong to the cluster. In the result, `undefined` marks an identifier that was not
   * removed.
   */
  unmap(cluster: string, identifiers: readonly string[]): Owners {
    return identifiers.map((identifier) => {
      if (this.lookup(identifier) !== cluster) return undefined;
      this.#delete(identifier);
      return cluster;
    });
  }

  undoMap(identifiers: readonly string[], previousOwners: Owners): void {
    // The loop runs from the end, so that an identifier that occurs twice in the list gets its oldest owner back.
    for (let i = identifiers.length - 1; i >= 0; i -= 1) {
      const owner = previousOwners[i];
      if (owner === undefined) this.#delete(identifiers[i]!);
      else this.set(identifiers[i]!, owner);
    }
  }

  undoUnmap(identifiers: readonly string[], previousOwners: Owners): void {
    for (const [i, owner] of previousOwners.entries()) {
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
    const [baseLayer, ...newerLayers] = this.#layers;
    for (const layer of newerLayers) {
      for (const [identifier, cluster] of layer) {
        if (cluster === undefined) baseLayer!.delete(identifier);
        else baseLayer!.set(identifier, cluster);
      }
    }
    this.#layers = [baseLayer!];
  }
}

/** For an identifier in several layers, yields the value of the newest layer at its first position. */
function* readLayers(layers: readonly Layer[]): Generator<[identifier: string, cluster: string], void> {
  for (const [i, layer] of layers.entries()) {
    const olderLayers = layers.slice(0, i);
    const newerLayers = layers.slice(i + 1).reverse();
    for (const [identifier, cluster] of layer) {
      if (olderLayers.some((item) => item.has(identifier))) continue;
      const newerLayer = newerLayers.find((item) => item.has(identifier));
      const newestOwner = newerLayer ? newerLayer.get(identifier) : cluster;
      if (newestOwner !== undefined) yield [identifier, newestOwner];
    }
  }
}
