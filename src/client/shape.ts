import type * as z from "zod";

/** All ways in which a value differs from its declaration. */
export function issuesIn(schema: z.ZodType, value: unknown): readonly z.core.$ZodIssue[] {
  try {
    // Most processes check one answer: making a fast parser for it would cost them more than all else that they do.
    return schema.safeParse(value, { jitless: true }).error?.issues ?? [];
  } catch (error) {
    // Zod hands issues on as the arguments of one call, which have a limit: a hundred thousand of one list are too many.
    if (!(error instanceof RangeError)) throw error;
    return [{ code: "custom", path: [], message: "too many differences to list", input: value }];
  }
}

/**
 * Where a value has another shape than the declaration: a field that is missing, or a text in place of a list. Undefined
 * where all that is declared can be read. Fields, choices and formats that are not declared are no matter: services grow.
 */
export const shapeProblemIn = (schema: z.ZodType, value: unknown): string | undefined =>
  firstShapeProblem(issuesIn(schema, value), value);

/** The same of differences that were found in a value. */
export function firstShapeProblem(issues: readonly z.core.$ZodIssue[], value: unknown): string | undefined {
  const found = issues.find((issue) => isOfShape(issue, value));
  return found && `${found.path.map(String).join(".") || "the response"}: ${found.message}`;
}

/**
 * Another word than those that are declared is still a word, and nothing where one value is declared is read as nothing,
 * but for an id, a URL or a key, by which the next thing is done. Of a choice of shapes, none must fit.
 */
function isOfShape(issue: z.core.$ZodIssue, value: unknown): boolean {
  const given = issue.path.reduce((inner: unknown, step) => (inner as Record<PropertyKey, unknown>)?.[step], value);
  const isNothing = given === undefined || given === null;
  if (isNothing && issue.path.length > 0 && !isNeeded(issue)) return false;
  if (issue.code === "invalid_type") return true;
  if (issue.code === "invalid_value") return issue.values.every((one) => typeof one !== typeof given);
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return false;
  return issue.errors.every((branch) => branch.some((one) => isOfShape(one, given)));
}

/** What holds others, or leads to others. An item of a list has no name: nobody expects one that is nothing. */
function isNeeded(issue: z.core.$ZodIssue): boolean {
  const name = issue.path.at(-1);
  if (typeof name !== "string" || /(?:^|_)(?:id|key|url)$/.test(name)) return true;
  return issue.code === "invalid_type" && ["object", "array", "record"].includes(issue.expected);
}
