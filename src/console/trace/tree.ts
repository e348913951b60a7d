interface Placed {
  readonly id: string;
  readonly parent: string | null;
}

/** How deep each node stands below a beginning; its parent comes before it. */
export function depths(nodes: readonly Placed[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const { id, parent } of nodes) found.set(id, parent === null ? 0 : (found.get(parent) ?? -1) + 1);
  return found;
}
