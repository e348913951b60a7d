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

export type Entry<Node, Planned> = { readonly node: Node } | { readonly planned: Planned };

/** What happened, and what is to come behind the last thing that followed from the same: `nodes` are in that order. */
export function withPlanned<Node extends Placed, Planned extends { readonly parent: string }>(
  nodes: readonly Node[],
  planned: readonly Planned[],
): readonly Entry<Node, Planned>[] {
  const depth = depths(nodes);
  const entries: Entry<Node, Planned>[] = [];
  /** Those whose followers are not all told yet, innermost last. */
  const open: string[] = [];
  const close = (to: number) => {
    for (const id of open.splice(to).reverse()) {
      for (const entry of planned) if (entry.parent === id) entries.push({ planned: entry });
    }
  };
  for (const node of nodes) {
    close(depth.get(node.id)!);
    entries.push({ node });
    open.push(node.id);
  }
  close(0);
  for (const entry of planned) if (!depth.has(entry.parent)) entries.push({ planned: entry });
  return entries;
}
