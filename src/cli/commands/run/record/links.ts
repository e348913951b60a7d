import { replaceLeaves } from "../references.ts";
import type { Observation } from "../steps.ts";
import type { Action } from "./history.ts";

/** Value of an earlier result that a request contains. */
export interface Link {
  readonly from: number;
  readonly path: string;
}

/** Links of each request by path in its input, such as `params.id` or `body.contract_ids.0`. */
export type Links = ReadonlyMap<number, ReadonlyMap<string, Link>>;

/** Names of fields whose values a service generates. */
const identifier = /(?:^|_)(?:ids?|uuids?)$/;

/** Reports whether a value is practically unique. */
const isUnique = (value: unknown): boolean => typeof value === "string" && /^[A-Z]-\d+$|^[\da-f-]{32,36}$/.test(value);

interface CreatedObject extends Link {
  readonly value: unknown;
  /** Kind of the object, such as `contract` for `contract_id` and for the `id` of `contracts.create`. */
  readonly kind: string;
}

/** Finds references to objects that earlier requests created, by replaying all requests. */
export function findLinks(actions: readonly Action[], results: ReadonlyMap<number, Observation>): Links {
  const links = new Map<number, Map<string, Link>>();
  const made: CreatedObject[] = [];
  for (const action of actions) {
    const own = new Map<string, Link>();
    const { params, query, body } = action;
    replaceLeaves({ params, query, body }, (path, value) => {
      const kind = getKind(path, action);
      const found = made.find(
        (one) =>
          (isUnique(value) && one.value === value) ||
          (kind !== undefined && one.kind === kind && String(one.value) === String(value)),
      );
      if (found) own.set(path, { from: found.from, path: found.path });
      return value;
    });
    links.set(action.id, own);
    const result = results.get(action.id);
    if (action.status >= 400 || result?.value === undefined || action.operation.method === "GET") continue;
    replaceLeaves(result.value, (path, value) => {
      const kind = getKind(path, action);
      const isNew = kind !== undefined && !made.some((one) => one.kind === kind && one.value === value);
      if (isNew && value !== null) made.push({ from: action.id, path, value, kind });
      return value;
    });
  }
  return links;
}

/** Returns the kind of object that a field refers to. Returns undefined if the field is not a reference. */
function getKind(path: string, { operation }: Action): string | undefined {
  const names = path.split(".").filter((name) => !/^\d+$/.test(name));
  const name = names.at(-1) ?? "";
  if (!identifier.test(name)) return undefined;
  const kind = name.replace(/_?(?:ids?|uuids?)$/, "").replace(/^composite$/, "contract");
  const resource = operation.id
    .split(".")[0]!
    .replace(/^emulator-/, "")
    .replace(/s$/, "");
  return kind === "" ? resource : kind;
}
