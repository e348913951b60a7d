import { isObject } from "../../../base/object.ts";
import {
  listObservedActivities,
  listObservedDeliveries,
  listObservedWebhooks,
  type ObservedDelivery,
} from "./observations.ts";
import { getValueAt, resolveReferences } from "./references.ts";
import type { Expectations } from "./schema.ts";
import type { ScenarioStage } from "./stage.ts";
import type { StepObservation } from "./steps.ts";

/** Compares the result of a step, and the state after it, with expectations. Null stands for an unknown value. */
export async function checkExpectations(
  given: Expectations,
  done: StepObservation,
  stage: ScenarioStage,
): Promise<readonly ExpectationDifference[]> {
  const expected = resolveReferences(given, stage.values);
  if (["activities", "deliveries", "webhooks"].some((name) => name in expected)) await stage.settle();
  const differences: ExpectationDifference[] = [];
  const check = <T>(
    name: keyof Expectations,
    seen: T,
    holds: (expectedValue: never) => boolean,
    shown = formatValue(seen),
  ) => {
    const expectedValue = expected[name];
    if (expectedValue === undefined || (expectedValue !== null && holds(expectedValue as never))) return;
    const what = expectedValue === null ? "a value" : formatValue(expectedValue);
    differences.push({ path: [name], message: `${name}: expected ${what}, got ${shown}`, seen });
  };
  check("status", done.status, (expectedValue) => expectedValue === done.status);
  check("failure", done.failures?.[0], (expectedValue) => done.failures?.includes(expectedValue) === true);
  const why = done.error === undefined ? "" : ` (${done.error})`;
  check("exit", done.exit, (expectedValue) => expectedValue === done.exit, `${formatValue(done.exit)}${why}`);
  const text = done.output?.trim() ?? "";
  check("text", text, (expectedValue) => [expectedValue].flat().every((part) => text.includes(part)));
  if (expected.json !== undefined) {
    differences.push(...compareJson("json", expected.json, done.value, selectStableFields(done.value)));
  }
  if (expected.activities !== undefined) {
    differences.push(...compareActivities(expected.activities, await listObservedActivities(stage)));
  }
  if (expected.deliveries !== undefined) {
    differences.push(...compareDeliveries(expected.deliveries, await listObservedDeliveries(stage)));
  }
  if (expected.webhooks !== undefined) {
    differences.push(...compareJson("webhooks", expected.webhooks, await listObservedWebhooks(stage)));
  }
  return differences;
}

/** Compares JSON values. `example` replaces an expected null. */
const compareJson = (
  name: string,
  expected: unknown,
  seen: unknown,
  example = seen,
): readonly ExpectationDifference[] =>
  expected === null
    ? [{ path: [name], message: `${name}: expected a value`, seen: example }]
    : compareSubset(expected, seen).map((one) => ({
        ...one,
        path: [name, ...one.path],
        message: `${name}.${one.message}`,
      }));

/** Selects the plain fields of a result that are equal in every run. Times, addresses and long values are omitted. */
function selectStableFields(value: unknown): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries((value ?? {}) as object).filter(
      ([, one]) =>
        ["string", "number", "boolean"].includes(typeof one) &&
        !/^\d{4}-\d\d-\d\dT|^https?:|^[\w+/=-]{24,}$/.test(String(one)) &&
        String(one).length <= 80,
    ),
  );
}

function compareActivities(expected: readonly string[] | null, seen: readonly string[]): ExpectationDifference[] {
  const missing = expected === null ? 0 : findMissingIndex(expected, seen, (one, other) => one === other);
  if (missing === undefined) return [];
  const name = expected?.[missing] ?? "activities";
  const position = missing === 0 ? "" : ` after ${expected![missing - 1]}`;
  const all = seen.length === 0 ? "none" : seen.join(", ");
  const message = `activities.${missing}: ${name} did not happen${position}; seen: ${all}`;
  const own = seen.filter((one) => expected?.includes(one));
  return [{ path: ["activities"], message, seen: own.length > 0 ? own : seen }];
}

type ExpectedDelivery = NonNullable<Expectations["deliveries"]>[number];

const isMatching = (expectedValue: ExpectedDelivery, seen: ObservedDelivery): boolean =>
  compareSubset(expectedValue, seen).length === 0;

function compareDeliveries(
  expected: readonly ExpectedDelivery[] | null,
  seen: readonly ObservedDelivery[],
): readonly ExpectationDifference[] {
  const missing = expected === null ? 0 : findMissingIndex(expected, seen, isMatching);
  if (missing === undefined) return [];
  const expectedValue = expected?.[missing];
  const all = seen.length === 0 ? "none" : seen.map(formatDelivery).join("; ");
  const position = missing === 0 ? "" : ` after the one before`;
  const message = `deliveries.${missing}: no delivery${position} with ${formatValue(expectedValue ?? {})}; seen: ${all}`;
  const keys = expected === null ? ["to", "activity", "outcome"] : [...new Set(expected.flatMap(Object.keys))];
  const shown = seen.map((one) => Object.fromEntries(Object.entries(one).filter(([key]) => keys.includes(key))));
  return [{ path: ["deliveries"], message, seen: shown }];
}

const formatDelivery = ({ to, activity, contract, outcome, attempts, answers }: ObservedDelivery): string =>
  `${activity} ${contract ?? ""} to ${to} ${outcome} after ${attempts} (${answers.join(", ")})`.replace("  ", " ");

interface ExpectationDifference {
  readonly path: readonly (string | number)[];
  readonly message: string;
  readonly seen: unknown;
}

/** Compares a value with the expected fields. Additional fields are allowed. */
function compareSubset(
  expected: unknown,
  seen: unknown,
  path: readonly (string | number)[] = [],
): readonly ExpectationDifference[] {
  if (Array.isArray(expected)) {
    if (!Array.isArray(seen)) return [createDifference(path, "a list", seen)];
    if (expected.length !== seen.length)
      return [{ path, message: `${formatPath(path)}expected ${expected.length} items, got ${seen.length}`, seen }];
    return expected.flatMap((one, i) => compareSubset(one, seen[i], [...path, i]));
  }
  if (isObject(expected)) {
    if (typeof seen !== "object" || seen === null) return [createDifference(path, "a map", seen)];
    return Object.entries(expected).flatMap(([key, one]) => compareSubset(one, getValueAt(seen, key), [...path, key]));
  }
  const isSame = Object.is(expected, seen) || (expected === null && seen === undefined);
  return isSame ? [] : [createDifference(path, formatValue(expected), seen)];
}

const createDifference = (
  path: ExpectationDifference["path"],
  expected: string,
  seen: unknown,
): ExpectationDifference => ({
  path,
  message: `${formatPath(path)}expected ${expected}, got ${seen === undefined ? "nothing" : formatValue(seen)}`,
  seen,
});

const formatPath = (path: ExpectationDifference["path"]): string => (path.length === 0 ? "" : `${path.join(".")}: `);

const maxShownLength = 120;

function formatValue(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > maxShownLength ? `${text.slice(0, maxShownLength)}…` : text;
}

/** Finds the first expected item that was not observed in this order. Returns undefined if all items were observed. */
function findMissingIndex<Expected, Seen>(
  expected: readonly Expected[],
  seen: readonly Seen[],
  fits: (expected: Expected, seen: Seen) => boolean,
): number | undefined {
  let from = 0;
  for (const [i, one] of expected.entries()) {
    from = seen.findIndex((other, at) => at >= from && fits(one, other)) + 1;
    if (from === 0) return i;
  }
  return undefined;
}
