import { exportState } from "../../../api/emulator/state.ts";
import { listControlWebhooks } from "../../../api/emulator/webhooks.ts";
import type { Delivery } from "../../../api/webhook-health/attempts.ts";
import { toPlainNumbers } from "../../../base/json.ts";
import { findField, isObject } from "../../../base/object.ts";
import { pluralize } from "../../../base/text.ts";
import { readDeliveryLog } from "../webhooks/delivery-log.ts";
import type { ScenarioEnvironment } from "./environment.ts";
import type { Expectations } from "./schema.ts";
import type { StepObservation } from "./steps.ts";

/** Compares the result of a step, and the state after it, with expectations. Null stands for an unknown value. */
export async function checkExpectations(
  expected: Expectations,
  observation: StepObservation,
  environment: ScenarioEnvironment,
): Promise<readonly ExpectationDifference[]> {
  if (["activities", "deliveries", "webhooks"].some((name) => name in expected)) await environment.settle();
  const differences: ExpectationDifference[] = [];
  const check = <T>(
    name: keyof Expectations,
    actual: T,
    holds: (expectedValue: never) => boolean,
    actualText?: string,
  ) => {
    const expectedValue = expected[name];
    if (expectedValue === undefined || (expectedValue !== null && holds(expectedValue as never))) return;
    const expectedText = expectedValue === null ? "a value" : formatValue(expectedValue);
    differences.push(createDifference([name], expectedText, actual, actualText));
  };
  const { status, failures = [], exit, error, output = "" } = observation;
  const value = toPlainNumbers(observation.value);
  const text = output.trim();
  const explain = (actual: unknown) => formatValue(actual) + (error === undefined ? "" : ` (${error})`);
  check("status", status, (expectedValue) => expectedValue === status, explain(status));
  check("failure", failures[0], (expectedValue) => failures.includes(expectedValue), explain(failures[0]));
  check("exit", exit, (expectedValue) => expectedValue === exit, explain(exit));
  // Every output contains an empty text, so it stands for an empty output.
  check("text", text, (expectedValue: string | string[]) =>
    [expectedValue].flat().every((part) => (part === "" ? text === "" : text.includes(part))),
  );
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
    const statuses = (await listWebhooks(environment)).map(({ name, status }) => [name, status]);
    differences.push(...compareJson("webhooks", expected.webhooks, Object.fromEntries(statuses)));
  }
  return differences;
}

/** Compares JSON values. `example` replaces an expected null. */
const compareJson = (name: string, expected: unknown, actual: unknown, example = actual) =>
  expected === null
    ? [{ path: [name], message: `${name}: expected a value, got ${formatValue(actual)}`, actual: example }]
    : compareSubset(expected, actual, [name]);

/** Selects the plain fields of a result that are equal in every run. Times, addresses and long values are omitted. */
function selectStableFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => (isObject(item) ? selectStableFields(item) : item));
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
  const seen = actual.join(", ") || "none";
  if (expected === null || (expected.length === 0 && actual.length > 0)) {
    const message = `activities: expected ${expected === null ? "a value" : "none"}; seen: ${seen}`;
    return [{ path: ["activities"], message, actual }];
  }
  const missing = findMissingIndex(expected, actual, (a, b) => a === b);
  if (missing === undefined) return [];
  const position = missing === 0 ? "" : ` after ${expected[missing - 1]}`;
  const message = `activities.${missing}: ${expected[missing]} did not happen${position}; seen: ${seen}`;
  const matching = actual.filter((activity) => expected.includes(activity));
  return [{ path: ["activities"], message, actual: matching.length > 0 ? matching : actual }];
}

function compareDeliveries(
  expected: NonNullable<Expectations["deliveries"]> | null,
  actual: readonly ObservedDelivery[],
): readonly ExpectationDifference[] {
  const seen = actual.map(formatDelivery).join("; ") || "none";
  const createResult = (message: string, keys: readonly string[]) => {
    const selectedFields = actual.map((delivery) =>
      Object.fromEntries(Object.entries(delivery).filter(([key]) => keys.includes(key))),
    );
    return [{ path: ["deliveries"], message: `${message}; seen: ${seen}`, actual: selectedFields }];
  };
  if (expected === null || (expected.length === 0 && actual.length > 0)) {
    const message = `deliveries: expected ${expected === null ? "a value" : "none"}`;
    return createResult(message, ["to", "activity", "outcome"]);
  }
  const missing = findMissingIndex(expected, actual, (a, b) => compareSubset(a, b).length === 0);
  if (missing === undefined) return [];
  const position = missing === 0 ? "" : ` after the one before`;
  const nearest = describeNearest(expected[missing]!, actual);
  const message = `deliveries.${missing}: no delivery${position} with ${formatValue(expected[missing])}${nearest}`;
  return createResult(message, expected.flatMap(Object.keys));
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
      return [createDifference(path, pluralize(expected.length, "item"), actual, String(actual.length))];
    return expected.flatMap((item, i) => compareSubset(item, actual[i], [...path, i]));
  }
  if (isObject(expected)) {
    if (typeof actual !== "object" || actual === null) return [createDifference(path, "a map", actual)];
    return Object.entries(expected).flatMap(([key, member]) =>
      compareSubset(member, findField(actual, key), [...path, key]),
    );
  }
  const isSame = Object.is(expected, actual) || (expected === null && actual === undefined);
  return isSame ? [] : [createDifference(path, formatValue(expected), actual)];
}

const createDifference = (
  path: ExpectationDifference["path"],
  expected: string,
  actual: unknown,
  actualText = formatValue(actual),
): ExpectationDifference => ({
  path,
  message: `${path.length === 0 ? "" : `${path.join(".")}: `}expected ${expected}, got ${actualText}`,
  actual,
});

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

type ObservedDelivery = ReturnType<typeof toObservedDelivery>;

/** Lists all deliveries, oldest first. */
export async function listObservedDeliveries(environment: ScenarioEnvironment): Promise<readonly ObservedDelivery[]> {
  const { client } = environment;
  const names = new Map((await listWebhooks(environment)).map(({ name, id }) => [id, name]));
  const { deliveries } = await readDeliveryLog(client);
  return deliveries
    .map((item) => toObservedDelivery(item, names.get(item.webhook_id) ?? String(item.webhook_id)))
    .reverse();
}

function toObservedDelivery({ activity, composite_id, outcome, attempts }: Delivery, to: string) {
  const start = Date.parse(attempts[0]?.at ?? "");
  return {
    to,
    activity,
    contract: composite_id,
    outcome,
    attempts: attempts.length,
    responses: listResponses(attempts),
    minutes: attempts.map(({ at }) => Math.round((Date.parse(at) - start) / 60_000)),
  };
}

/** Lists the result of each attempt: a status or an error code. */
export const listResponses = (attempts: Delivery["attempts"]): (number | string)[] =>
  attempts.map(({ status, error }) => status ?? error?.code ?? "no response");

/** Lists all activities, oldest first. Only the exported state has them all. */
async function listObservedActivities({ client }: ScenarioEnvironment): Promise<readonly string[]> {
  const { rows } = (await client.call(exportState)) as unknown as {
    readonly rows: { readonly webhook_events?: readonly { readonly id: number; readonly activity: string }[] };
  };
  return (rows.webhook_events ?? []).toSorted((a, b) => a.id - b.id).map(({ activity }) => activity);
}

/** Finds the webhooks of the story's receivers, by the ID that a step created or by the receiver's URL. */
async function listWebhooks({ client, receivers }: ScenarioEnvironment) {
  const all = await client.call(listControlWebhooks);
  return [...receivers].flatMap(([name, { webhook, url }]) => {
    const webhookRow = all.find((candidate) =>
      webhook === undefined ? candidate.url === url : candidate.id === webhook,
    );
    const id = webhookRow?.id ?? webhook;
    return id === undefined ? [] : [{ name, id, status: webhookRow?.status ?? "DELETED" }];
  });
}
