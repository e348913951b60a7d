import type { Operation } from "../../../src/api/operation.ts";
import { memoize } from "../../../src/base/memoize.ts";

const maxDistance = 0.5;
/** More than twice the longest that is declared is like none of them. */
const longestSegment = 100;

/**
 * The operation that a request for an unknown path probably meant; undefined when none is like it. Paths are compared
 * segment by segment, and a name in braces may stand for any segment.
 */
export function nearestOperation(
  method: string,
  path: string,
  operations: readonly Operation[],
): Operation | undefined {
  const given = segmentsOf(path);
  const apart = remembered(segmentDistance);
  let best: Operation | undefined;
  let least = maxDistance;
  for (const operation of operations) {
    const declared = declaredSegmentsOf(operation);
    const longest = Math.max(given.length, declared.length, 1);
    // Each segment too many counts as one, so that it need not be compared with the others.
    if (Math.abs(given.length - declared.length) / longest >= least) continue;
    const other = [operation.method].flat().includes(method as never) ? 0 : 0.05;
    const distance = pathDistance(given, declared, apart) / longest + other;
    if (distance < least) {
      least = distance;
      best = operation;
    }
  }
  return best;
}

const segmentsOf = (path: string): string[] => path.split("/").filter((segment) => segment !== "");

const declaredSegmentsOf = memoize(({ path }: Operation): readonly string[] => segmentsOf(path));

type Distance = (a: string, b: string) => number;

const pathDistance = (given: readonly string[], declared: readonly string[], apart: Distance): number =>
  editDistance(given, declared, (a, b) => (b[0] === "{" ? 0.2 : apart(a, b)));

/** Paths have most of their segments in common. */
function remembered(distance: Distance): Distance {
  const known = new Map<string, number>();
  return (a, b) => {
    // No segment has a slash in it.
    const pair = `${a}/${b}`;
    const before = known.get(pair);
    if (before !== undefined) return before;
    const found = distance(a, b);
    known.set(pair, found);
    return found;
  };
}

const segmentDistance = (a: string, b: string): number =>
  a === b
    ? 0
    : a.length > longestSegment
      ? 1
      : editDistance([...a], [...b], (x, y) => (x === y ? 0 : 1)) / Math.max(a.length, b.length);

/** Levenshtein's, with a cost of 1 for what is there on one side only. */
function editDistance(from: readonly string[], to: readonly string[], swap: Distance): number {
  let row = to.map((_, i) => i + 1);
  row.unshift(0);
  for (const [i, a] of from.entries()) {
    const next = [i + 1];
    for (const [j, b] of to.entries()) {
      next.push(Math.min(row[j]! + swap(a, b), row[j + 1]! + 1, next[j]! + 1));
    }
    row = next;
  }
  return row[to.length]!;
}
