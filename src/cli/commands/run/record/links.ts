import { replaceLeaves } from "../references.ts";
import type { StepObservation } from "../steps.ts";
import type { RecordedAction } from "./history.ts";

/** Value of an earlier result that a request contains. */
export interface ValueLink {
  readonly from: number;
  readonly path: string;
}

/** Links of each request by path in its input, such as `params.id` or `body.contract_ids.0`. */
export type ValueLinks = ReadonlyMap<number, ReadonlyMap<string, ValueLink>>;

/** Names of fields whose values a service generates. The field `webhook` of a receiver is the ID of its webhook. */
const identifierPattern = /(?:^|_)(?:ids?|uuids?)$|^webhook$/;

/** Reports whether a value is practically unique. */
const isUnique = (value: unknown): boolean => typeof value === "string" && /^[A-Z]-\d+$|^[\da-f-]{32,36}$/.test(value);

interface CreatedObject extends ValueLink {
  readonly value: unknown;
  /** Kind of the object, such as `contract` for `contract_id` and for the `id` of `contracts.create`. */
  readonly kind: string;
}

/** Finds references to objects that earlier requests created, by replaying all requests. */
export function findLinks(
  actions: readonly RecordedAction[],
  results: ReadonlyMap<number, StepObservation>,
): ValueLinks {
  const links = new Map<number, Map<string, ValueLink>>();
  const createdObjects: CreatedObject[] = [];
  for (const action of actions) {
    const linksOfAction = new Map<string, ValueLink>();
    const { params, query, body } = action;
    replaceLeaves({ params, query, body }, (path, value) => {
      const kind = getObjectKind(path, action);
      const origin = createdObjects.find((object) =>
        isUnique(value) ? object.value === value : object.kind === kind && String(object.value) === String(value),
      );
      if (origin) linksOfAction.set(path, { from: origin.from, path: origin.path });
      return value;
    });
    links.set(action.id, linksOfAction);
    const result = results.get(action.id);
    if (action.status >= 400 || result?.value === undefined || action.operation.method === "GET") continue;
    replaceLeaves(result.value, (path, value) => {
      const kind = getObjectKind(path, action);
      const isNew =
        kind !== undefined && !createdObjects.some((object) => object.kind === kind && object.value === value);
      if (isNew && value !== null) createdObjects.push({ from: action.id, path, value, kind });
      return value;
    });
  }
  return links;
}

/** Returns the kind of object that a field refers to. Returns undefined if the field is not a reference. */
function getObjectKind(path: string, { operation }: RecordedAction): string | undefined {
  const names = path.split(".").filter((name) => !/^\d+$/.test(name));
  const name = names.at(-1) ?? "";
  if (!identifierPattern.test(name)) return undefined;
  const kind = name.replace(/_?(?:ids?|uuids?)$/, "").replace(/^composite$/, "contract");
  const resource = operation.id
    .split(".")[0]!
    .replace(/^emulator-/, "")
    .replace(/s$/, "");
  return kind === "" ? resource : kind;
}
