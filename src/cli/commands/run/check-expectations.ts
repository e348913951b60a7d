import { isObject } from "../../../base/object.ts";
import {
  listObservedActivities,
  listObservedDeliveries,
  listObservedWebhooks,
  type ObservedDelivery,
} from "./observations.ts";
import { getValueAt, resolveReferences } from "./references.ts";
import type { ScenarioEnvironment } from "./scenario-environment.ts";
import type { Expectations } from "./schema.ts";
import type { StepObservation } from "./steps.ts";

/** Compares the result of a step, and the state after it, with expectations. Null stands for an unknown value. */
export async function checkExpectations(
  expectations: Expectations,
  observation: StepObservation,
  environment: ScenarioEnvironment,
): Promise<readonly ExpectationDifference[]> {
  const expected = resolveReferences(expectations, environment.values);
  if (["activities", "deliveries", "webhooks"].some((name) => name in expected)) await environment.settle();
  const differences: ExpectationDifference[] = [];
  const check = <T>(
    name: keyof Expectations,
    actual: T,
    holds: (expectedValue: never) => boolean,
    actualText = formatValue(actual),
  ) => {
    const expectedValue = expected[name];
    if (expectedValue === undefined || (expectedValue !== null && holds(expectedValue as never))) return;
    const expectedText = expectedValue === null ? "a value" : formatValue(expectedValue);
    differences.push({ path: [name], message: `${name}: expected ${expectedText}, got ${actualText}`, actual });
  };
  const { status, failures = [], exit, error, output = "", value } = observation;
  const text = output.trim();
  check("status", status, (expectedValue) => expectedValue === status);
  check("failure", failures[0], (expectedValue) => failures.includes(expectedValue));
  const exitText = formatValue(exit) + (error === undefined ? "" : ` (${error})`);
  check("exit", exit, (expectedValue) => expectedValue === exit, exitText);
  check("text", text, (expectedValue) => [expectedValue].flat().every((part) => text.includes(part)));
  if (expected.json !== undefined) {
    differences.push(...compareJson("json", expected.json, value, selectStableFields(value)));
  }
  if (expected.activities !== undefined) {
    differences.push(...compareActivities(expected.activities, await listObservedActivities(environment)));
  }
  if (expected.deliveries !== undefined) {
    differences.push(...compareDeliveries(expected.deliveries, await listObservedDeliveries(environment)));
  }
  if (expected.webhooks !== undefined) {
    differences.push(...compareJson("webhooks", expected.webhooks, await listObservedWebhooks(environment)));
  }
  return differences;
}

/** Compares JSON values. `example` replaces an expected null. */
const compareJson = (
  name: string,
  expected: unknown,
  actual: unknown,
  example = actual,
): readonly ExpectationDifference[] =>
  expected === null
    ? [{ path: [name], message: `${name}: expected a value`, actual: example }]
    : compareSubset(expected, actual).map((difference) => ({
        ...difference,
        path: [name, ...difference.path],
        message: `${name}.${difference.message}`,
      }));

/** Selects the plain fields of a result that are equal in every run. Times, addresses and long values are omitted. */
function selectStableFields(value: unknown): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries((value ?? {}) as object).filter(
      ([, value]) =>
        ["string", "number", "boolean"].includes(typeof value) &&
        !/^\d{4}-\d\d-\d\dT|^https?:|^[\w+/=-]{24,}$/.test(String(value)) &&
        String(value).length <= 80,
    ),
  );
}

function compareActivities(expected: readonly string[] | null, actual: readonly string[]): ExpectationDifference[] {
  const missing = expected === null ? 0 : findMissingIndex(expected, actual, (a, b) => a === b);
  if (missing === undefined) return [];
  const name = expected?.[missing] ?? "activities";
  const position = missing === 0 ? "" : ` after ${expected![missing - 1]}`;
  const message = `activities.${missing}: ${name} did not happen${position}; seen: ${actual.join(", ") || "none"}`;
  const matching = actual.filter((activity) => expected?.includes(activity));
  return [{ path: ["activities"], message, actual: matching.length > 0 ? matching : actual }];
}

function compareDeliveries(
  expected: NonNullable<Expectations["deliveries"]> | null,
  actual: readonly ObservedDelivery[],
): readonly ExpectationDifference[] {
  const missing =
    expected === null ? 0 : findMissingIndex(expected, actual, (a, b) => compareSubset(a, b).length === 0);
  if (missing === undefined) return [];
  const all = actual.map(formatDelivery).join("; ") || "none";
  const position = missing === 0 ? "" : ` after the one before`;
  const wanted = formatValue(expected?.[missing] ?? {});
  const nearest = expected?.[missing] === undefined ? "" : describeNearest(expected[missing], actual);
  const message = `deliveries.${missing}: no delivery${position} with ${wanted}${nearest}; seen: ${all}`;
  const keys = expected === null ? ["to", "activity", "outcome"] : expected.flatMap(Object.keys);
  const selectedFields = actual.map((delivery) =>
    Object.fromEntries(Object.entries(delivery).filter(([key]) => keys.includes(key))),
  );
  return [{ path: ["deliveries"], message, actual: selectedFields }];
}

/** Describes how the most similar delivery differs. The first of several equally similar ones counts. */
function describeNearest(expected: object, actual: readonly ObservedDelivery[]): string {
  const candidates = actual.map((delivery, i) => ({ i, delivery, differences: compareSubset(expected, delivery) }));
  const [nearest] = candidates.toSorted((a, b) => a.differences.length - b.differences.length);
  if (nearest === undefined) return "";
  const { i, delivery, differences } = nearest;
  const details = differences.length === 0 ? "it came earlier" : differences.map(({ message }) => message).join(", ");
  return `; nearest: ${i + 1}. ${formatDelivery(delivery)}: ${details}`;
}

const formatDelivery = ({ to, activity, contract, outcome, attempts, responses }: ObservedDelivery): string =>
  `${activity} ${contract ?? ""} to ${to} ${outcome} after ${attempts} (${responses.join(", ")})`.replace("  ", " ");

interface ExpectationDifference {
  readonly path: readonly (string | number)[];
  readonly message: string;
  readonly actual: unknown;
}

/** Compares a value with the expected fields. Additional fields are allowed. */
function compareSubset(
  expected: unknown,
  actual: unknown,
  path: readonly (string | number)[] = [],
): readonly ExpectationDifference[] {
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return [createDifference(path, "a list", actual)];
    if (expected.length !== actual.length)
      return [{ path, message: `${formatPath(path)}expected ${expected.length} items, got ${actual.length}`, actual }];
    return expected.flatMap((item, i) => compareSubset(item, actual[i], [...path, i]));
  }
  if (isObject(expected)) {
    if (typeof actual !== "object" || actual === null) return [createDifference(path, "a map", actual)];
    return Object.entries(expected).flatMap(([key, member]) =>
      compareSubset(member, getValueAt(actual, key), [...path, key]),
    );
  }
  const isSame = Object.is(expected, actual) || (expected === null && actual === undefined);
  return isSame ? [] : [createDifference(path, formatValue(expected), actual)];
}

const createDifference = (
  path: ExpectationDifference["path"],
  expected: string,
  actual: unknown,
): ExpectationDifference => ({
  path,
  message: `${formatPath(path)}expected ${expected}, got ${actual === undefined ? "nothing" : formatValue(actual)}`,
  actual,
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
  actualItems: readonly Seen[],
  fits: (expected: Expected, actual: Seen) => boolean,
): number | undefined {
  let from = 0;
  for (const [i, expectedItem] of expected.entries()) {
    from = actualItems.findIndex((item, index) => index >= from && fits(expectedItem, item)) + 1;
    if (from === 0) return i;
  }
  return undefined;
}
