import type { Import } from "./imports.ts";

/**
 * Finds cycles of imports, including type imports. Each group is sorted by path. Uses Tarjan's strongly connected
 * components.
 */
export function findImportCycles(imports: readonly Import[]): string[][] {
  const targets = new Map<string, string[]>();
  for (const { from, target } of imports) targets.set(from, [...(targets.get(from) ?? []), target]);

  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const circles: string[][] = [];

  function visit(file: string): void {
    order.set(file, order.size);
    lowest.set(file, order.get(file)!);
    open.push(file);
    for (const target of targets.get(file) ?? []) {
      if (!order.has(target)) visit(target);
      if (open.includes(target)) lowest.set(file, Math.min(lowest.get(file)!, lowest.get(target)!));
    }
    if (lowest.get(file) !== order.get(file)) return;
    const group = open.splice(open.indexOf(file)).sort();
    if (group.length > 1 || targets.get(file)?.includes(file)) circles.push(group);
  }

  for (const file of targets.keys()) if (!order.has(file)) visit(file);
  return circles;
}
