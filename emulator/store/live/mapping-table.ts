/** The former owners of `identifiers`, in the same order. */
export type Owners = readonly (string | undefined)[];

/** The owners at the start of a snapshot, of the identifiers that have changed since. */
type OldOwners = Map<string, string | undefined>;

/**
 * Identifiers and the clusters that own them. While snapshots are open, each retains the old owner of a changed
 * identifier, so that it only takes memory for the changes and not for a copy.
 */
export class MappingTable {
  /** An undefined owner marks a removed identifier that an open snapshot has yet to read. */
  readonly #owners = new Map<string, string | undefined>();
  #size = 0;
  readonly #snapshots = new Set<OldOwners>();
  readonly #removed = new Set<string>();

  get size(): number {
    return this.#size;
  }

  lookup(identifier: string): string | undefined {
    return this.#owners.get(identifier);
  }

  set(identifier: string, cluster: string): string | undefined {
    const previous = this.#owners.get(identifier);
    if (previous === undefined) this.#size += 1;
    this.#retainOwner(identifier, previous);
    this.#owners.set(identifier, cluster);
    return previous;
  }

  #delete(identifier: string): void {
    const previous = this.#owners.get(identifier);
    if (previous === undefined) return;
    this.#size -= 1;
    if (this.#snapshots.size === 0) this.#owners.delete(identifier);
    else {
      this.#retainOwner(identifier, previous);
      this.#owners.set(identifier, undefined);
      this.#removed.add(identifier);
    }
  }

  map(cluster: string, identifiers: readonly string[]): Owners {
    return identifiers.map((identifier) => this.set(identifier, cluster));
  }

  /** Removes the identifiers that belong to the cluster. */
  unmap(cluster: string, identifiers: readonly string[]): Owners {
    return identifiers.map((identifier) => {
      const previous = this.lookup(identifier);
      if (previous === cluster) this.#delete(identifier);
      return previous;
    });
  }

  undo(identifiers: readonly string[], previousOwners: Owners): void {
    // The loop runs from the end, so that an identifier that occurs twice in the list gets its oldest owner back.
    for (let i = identifiers.length - 1; i >= 0; i -= 1) {
      const owner = previousOwners[i];
      if (owner === undefined) this.#delete(identifiers[i]!);
      else this.set(identifiers[i]!, owner);
    }
  }

  /** Returns the entries at this moment, unaffected by writes until `end`. */
  takeSnapshot(): { readonly entries: Iterable<readonly [identifier: string, cluster: string]>; end(): void } {
    const oldOwners: OldOwners = new Map();
    this.#snapshots.add(oldOwners);
    return {
      entries: this.#readSnapshot(oldOwners),
      end: () => {
        this.#snapshots.delete(oldOwners);
        if (this.#snapshots.size > 0) return;
        for (const identifier of this.#removed)
          if (this.lookup(identifier) === undefined) this.#owners.delete(identifier);
        this.#removed.clear();
      },
    };
  }

  *#readSnapshot(oldOwners: OldOwners): Generator<[identifier: string, cluster: string], void> {
    for (const [identifier, cluster] of this.#owners) {
      const owner = oldOwners.has(identifier) ? oldOwners.get(identifier) : cluster;
      if (owner !== undefined) yield [identifier, owner];
    }
  }

  #retainOwner(identifier: string, owner: string | undefined): void {
    for (const oldOwners of this.#snapshots) if (!oldOwners.has(identifier)) oldOwners.set(identifier, owner);
  }
}
