import { escapeReferences, findReferences, replaceLeaves } from "../references.ts";
import type { StepObservation } from "../steps.ts";
import type { RecordedAction } from "./history.ts";

/** Returns the name under which the result of a request is saved during a replay. */
export const getResultName = (id: number): string => `r${id}`;

/** Replaces the values in the input of a request. */
export function mapInput(
  { params, query, body, ...action }: RecordedAction,
  replace: (path: string, value: unknown) => unknown,
): RecordedAction {
  const input = replaceLeaves({ params, query, body }, replace) as Pick<RecordedAction, "params" | "query" | "body">;
  return { ...action, ...input };
}

/** Lists the requests to whose results a request refers. */
export const listOrigins = ({ params, query, body }: RecordedAction): readonly number[] =>
  [...findReferences({ params, query, body })].map(({ name }) => Number(name.slice(1)));

/** Selects the requests that refer only to results of selected requests. */
export function selectRepeatable(actions: readonly RecordedAction[]): readonly RecordedAction[] {
  const ids = new Set<number>();
  return actions.filter((action) => listOrigins(action).every((id) => ids.has(id)) && ids.add(action.id));
}

/** Names of fields whose values a service generates. The field `webhook` of a receiver is the ID of its webhook. */
const identifierPattern = /(?:^|_)(?:ids?|uuids?)$|^webhook$/;

/** Reports whether a value is practically unique. */
const isUnique = (value: unknown): boolean => typeof value === "string" && /^[A-Z]-\d+$|^[\da-f-]{32,36}$/.test(value);

interface CreatedObject {
  readonly reference: string;
  readonly value: unknown;
  /** Kind of the object, such as `contract` for `contract_id` and for the `id` of `contracts.create`. */
  readonly kind: string;
}

/**
 * Replaces values that earlier requests created with references to the results of these requests, such as `${r12.id}`.
 * Escapes all other values. `results` comes from a replay of all requests.
 */
export function linkActions(
  actions: readonly RecordedAction[],
  results: ReadonlyMap<number, StepObservation>,
): readonly RecordedAction[] {
  const createdObjects: CreatedObject[] = [];
  return actions.map((action) => {
    const linkedAction = mapInput(action, (path, value) => {
      const kind = getObjectKind(path, action);
      const origin = createdObjects.find((object) =>
        isUnique(value) ? object.value === value : object.kind === kind && String(object.value) === String(value),
      );
      return origin ? origin.reference : escapeReferences(value);
    });
    const { value } = results.get(action.id) ?? {};
    if (action.status >= 400 || value === undefined || action.operation.method === "GET") return linkedAction;
    replaceLeaves(value, (path, value) => {
      const kind = getObjectKind(path, action);
      const isKnown = createdObjects.some((object) => object.kind === kind && object.value === value);
      if (kind !== undefined && value !== null && !isKnown)
        createdObjects.push({ reference: `$\{${getResultName(action.id)}.${path}}`, value, kind });
      return value;
    });
    return linkedAction;
  });
}

/** Returns the kind of object that a field refers to. Returns undefined if the field is not a reference. */
function getObjectKind(path: string, { operation }: RecordedAction): string | undefined {
  const names = path.split(".").filter((name) => !/^\d+$/.test(name));
  const name = names.at(-1) ?? "";
  if (!identifierPattern.test(name)) return undefined;
  const kind = name.replace(/_?(?:ids?|uuids?)$/, "").replace(/^composite$/, "contract");
  return kind === "" ? getResource(operation).replace(/s$/, "") : kind;
}

/** Returns the resource of an operation, such as `contracts` for `emulator-contracts.sign`. */
export const getResource = ({ id }: RecordedAction["operation"]): string =>
  id.replace(/^emulator-/, "").split(".")[0] ?? "value";
