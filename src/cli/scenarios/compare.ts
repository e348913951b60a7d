import { isObject } from "../../base/object.ts";
import { valueAt } from "./references.ts";

/** Something that is expected, and is otherwise. */
export interface Difference {
  /** Below the expectation. */
  readonly path: readonly (string | number)[];
  readonly message: string;
  readonly seen: unknown;
}

/** Where a value does not have the fields that are expected of it. Fields that nothing is said of may be there. */
export function compareSubset(
  expected: unknown,
  seen: unknown,
  path: readonly (string | number)[] = [],
): readonly Difference[] {
  if (Array.isArray(expected)) {
    if (!Array.isArray(seen)) return [differs(path, "a list", seen)];
    const lengths =
      expected.length === seen.length
        ? []
        : [{ path, message: `${named(path)}expected ${expected.length} items, got ${seen.length}`, seen }];
    return lengths.length > 0 ? lengths : expected.flatMap((one, i) => compareSubset(one, seen[i], [...path, i]));
  }
  if (isObject(expected)) {
    if (typeof seen !== "object" || seen === null) return [differs(path, "a map", seen)];
    return Object.entries(expected).flatMap(([key, one]) => compareSubset(one, valueAt(seen, key), [...path, key]));
  }
  const isSame = Object.is(expected, seen) || (expected === null && seen === undefined);
  return isSame ? [] : [differs(path, textOf(expected), seen)];
}

const differs = (path: Difference["path"], expected: string, seen: unknown): Difference => ({
  path,
  message: `${named(path)}expected ${expected}, got ${seen === undefined ? "nothing" : textOf(seen)}`,
  seen,
});

const named = (path: Difference["path"]): string => (path.length === 0 ? "" : `${path.join(".")}: `);

const maxLength = 120;

/** A value in a sentence. */
export function textOf(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}

/**
 * Whether the expected ones are among those that were seen, in this order: undefined, or the position of the first one
 * that is not.
 */
export function findMissing<Expected, Seen>(
  expected: readonly Expected[],
  seen: readonly Seen[],
  fits: (expected: Expected, seen: Seen) => boolean,
): number | undefined {
  let from = 0;
  for (const [i, one] of expected.entries()) {
    const found = seen.findIndex((other, at) => at >= from && fits(one, other));
    if (found < 0) return i;
    from = found + 1;
  }
  return undefined;
}
