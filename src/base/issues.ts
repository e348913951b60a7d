import type * as z from "zod";
import { lookupTable } from "./object.ts";

const expectedValues = lookupTable<string>({
  array: "a list",
  boolean: "true or false",
  date: "a date (2031-01-02)",
  datetime: "a time (2031-01-02T03:04:05Z)",
  email: "an e-mail address",
  guid: "a UUID",
  int: "an integer",
  number: "a number",
  object: "an object",
  record: "an object",
  string: "a string",
});

/**
 * Describes an issue as the end of a sentence about the field: `must be a list`, `must have at most 100 characters`.
 * Does not quote the value, because it can be a secret.
 */
export function describeIssue(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
    case "invalid_format": {
      if (issue.message.endsWith("received undefined")) return "is required";
      const expected = expectedValues["format" in issue ? issue.format : issue.expected];
      return expected === undefined ? issue.message : `must be ${expected}`;
    }
    case "too_small":
      return `must ${describeBound(issue.origin, issue.inclusive === false ? "more than" : "at least", issue.minimum)}`;
    case "too_big":
      return `must ${describeBound(issue.origin, issue.inclusive === false ? "less than" : "at most", issue.maximum)}`;
    default:
      return issue.message;
  }
}

const countedUnits = lookupTable<string>({ array: "item", string: "character" });

/** Describes a limit of a number, or of the size of a list or string: `have at least 2 items`. */
export function describeBound(origin: string, bound: string, limit: number | bigint): string {
  const unit = countedUnits[origin];
  if (unit !== undefined && bound === "at least" && Number(limit) === 1) return "not be empty";
  return unit === undefined
    ? `be ${bound} ${limit}`
    : `have ${bound} ${limit} ${unit}${Number(limit) === 1 ? "" : "s"}`;
}

/** Replaces an invalid union by the problems of its intended branch. */
export const expandUnion = (issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] =>
  issue.code === "invalid_union"
    ? findLikeliestBranch(issue.errors).flatMap((inner) =>
        expandUnion({ ...inner, path: [...issue.path, ...inner.path] }),
      )
    : [issue];

/** Returns the branch of a union with the deepest problems, or else the branch with the fewest problems. */
function findLikeliestBranch(branches: readonly (readonly z.core.$ZodIssue[])[]): readonly z.core.$ZodIssue[] {
  const getDepth = (issues: readonly z.core.$ZodIssue[]) =>
    issues.reduce((max, { path }) => Math.max(max, path.length), 0);
  return [...branches].sort((a, b) => getDepth(b) - getDepth(a) || a.length - b.length)[0] ?? [];
}
