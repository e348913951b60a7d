import type * as z from "zod";

export type RequestPart = "path" | "query" | "header" | "body";
export type Issue = z.core.$ZodIssue;

/** One thing that is wrong with a request, as zod found it. */
export interface ValidationProblem {
  readonly part: RequestPart;
  readonly issue: Issue;
  readonly schema: z.ZodType;
  /** The whole part as it was sent: fields as strings, or the JSON document with its numbers as written. */
  readonly sent: unknown;
}

/** The value at a path of what was sent; undefined where there is none. */
export function valueAt(sent: unknown, path: readonly PropertyKey[]): unknown {
  let at = sent;
  for (const key of path) {
    if (at instanceof Map) at = at.get(key);
    else if (typeof at === "object" && at !== null && Object.hasOwn(at, key))
      at = (at as Record<PropertyKey, unknown>)[key];
    else return undefined;
  }
  return at;
}
