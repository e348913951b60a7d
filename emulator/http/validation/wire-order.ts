import type * as z from "zod";
import { type Issue, valueAt } from "../dialects/problem.ts";
import { definitionOf, schemaAt } from "./schema.ts";

/**
 * Issues of the keys of a dictionary in the order in which those were sent: an object has names that look like numbers
 * before all others. `sent`: the document, whose objects are maps.
 */
export function inWireOrder(schema: z.ZodType, sent: unknown, issues: readonly Issue[]): readonly Issue[] {
  if (issues.length < 2) return issues;
  const placed = new Map<unknown, { readonly first: number; readonly rank: ReadonlyMap<unknown, number> }>();
  const keys = issues.map((issue, at) => {
    const depth = issue.path.findIndex((_, length) => isDictionary(schema, issue.path.slice(0, length)));
    const owner = depth < 0 ? undefined : valueAt(sent, issue.path.slice(0, depth));
    if (!(owner instanceof Map)) return { issue, group: at, rank: 0 };
    const place = placed.get(owner) ?? {
      first: at,
      rank: new Map([...owner.keys()].map((name, rank) => [name, rank])),
    };
    placed.set(owner, place);
    return { issue, group: place.first, rank: place.rank.get(issue.path[depth]) ?? 0 };
  });
  return keys.sort((a, b) => a.group - b.group || a.rank - b.rank).map(({ issue }) => issue);
}

const isDictionary = (schema: z.ZodType, path: readonly PropertyKey[]): boolean => {
  const at = schemaAt(schema, path);
  return at !== undefined && definitionOf(at).type === "record";
};
