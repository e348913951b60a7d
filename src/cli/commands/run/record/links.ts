import { replaceLeaves } from "../references.ts";
import type { Observation } from "../steps.ts";
import type { Action } from "./actions.ts";

/** A value of an earlier result, which a request has in it. */
export interface Link {
  /** Of the request that made it. */
  readonly from: number;
  /** Of the value in its result. */
  readonly path: string;
}

/** The links of each request by the place in its input: `params.id`, `body.contract_ids.0`. */
export type Links = ReadonlyMap<number, ReadonlyMap<string, Link>>;

/** Names of fields that hold what a service has made up. */
const identifier = /(?:^|_)(?:ids?|uuids?)$/;

/** A value that is the same nowhere else by chance. */
const isUnique = (value: unknown): boolean => typeof value === "string" && /^[A-Z]-\d+$|^[\da-f-]{32,36}$/.test(value);

interface CreatedObject extends Link {
  readonly value: unknown;
  /** Kind of its object: `contract` for `contract_id`, and for the `id` of `contracts.create`. */
  readonly kind: string;
}

/** Objects that earlier requests have created and later ones name, by the responses of a replay of all. */
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

/** Kind of object that a field refers to; undefined if it is not a reference. */
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
