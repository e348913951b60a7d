import type * as z from "zod";
import type { CallableOperation } from "../api/operation.ts";
import { toPlainNumbers } from "../base/json.ts";
import { findPlaceholders } from "../base/urls.ts";
import { type ArgumentProblem, InvalidArgumentsError } from "./errors.ts";

/** A caller's arguments of an operation, before their types are known. */
export interface CallArguments {
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
  readonly body?: unknown;
}

/** A call whose arguments fit its operation. Requests are built of nothing else, and nothing else checks arguments. */
export class CheckedCall {
  readonly operation: CallableOperation;
  readonly args: CallArguments;
  /** Other values only look like one. */
  declare protected readonly isChecked: true;

  private constructor(operation: CallableOperation, args: CallArguments) {
    this.operation = operation;
    this.args = args;
  }

  /**
   * Throws InvalidArgumentsError, which names every invalid argument. Without its schemas an operation accepts
   * anything.
   */
  static check(operation: CallableOperation, args: CallArguments = {}): CheckedCall {
    const problems = findProblems(operation, args);
    if (problems.length > 0) throw new InvalidArgumentsError(operation.id, problems);
    return new CheckedCall(operation, args);
  }

  /**
   * The same call with values of the program itself instead of checked ones: the hash of an address, the headers of a
   * signature, the query of the next page. They are valid by construction, and not checked again.
   */
  with(changes: CallArguments): CheckedCall {
    return new CheckedCall(this.operation, { ...this.args, ...changes });
  }
}

/** Arguments that do not fit the declaration. */
function findProblems(operation: CallableOperation, args: CallArguments): ArgumentProblem[] {
  const { params, query, headers, body } = operation.request;
  // The signed URL of a storage call holds them all.
  if (operation.service.name === "storage") return [];
  return [
    ...findPathProblems(operation.path, args.params ?? {}),
    ...findPartProblems("params", params, args.params ?? {}),
    ...findPartProblems("query", query, args.query ?? {}),
    ...findPartProblems("headers", headers, args.headers ?? {}),
    ...findPartProblems("body", body?.schema, toPlainNumbers(args.body)),
  ];
}

/** Values that would change the path to that of another operation: "" of a list, ".." of its parent. */
function findPathProblems(path: string, params: NonNullable<CallArguments["params"]>): ArgumentProblem[] {
  return findPlaceholders(path).flatMap((name) => {
    const value = params[name];
    if (name === "full_path" || typeof value !== "string") return [];
    const rule =
      value.trim() === "" ? "not be empty" : value === "." || value === ".." ? `not be "${value}"` : undefined;
    return rule === undefined ? [] : [{ in: "params", path: [name], message: `must ${rule}`, missing: false }];
  });
}

function findPartProblems(
  part: ArgumentProblem["in"],
  schema: z.ZodType | undefined,
  value: unknown,
): ArgumentProblem[] {
  const parsed = schema?.safeParse(value, { jitless: true });
  if (!parsed || parsed.success) return [];
  return parsed.error.issues.map((issue) => {
    const path = issue.path.map((step) => (typeof step === "number" ? step : String(step)));
    const given = path.reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], value);
    return { in: part, path, message: issue.message, missing: given === undefined };
  });
}

/** All ways in which a value differs from its declaration. */
export function findIssues(schema: z.ZodType, value: unknown): readonly z.core.$ZodIssue[] {
  try {
    // Most processes check one response: making a fast parser for it would cost them more than all else that they do.
    return schema.safeParse(value, { jitless: true }).error?.issues ?? [];
  } catch (error) {
    // Zod hands issues on as the arguments of one call, which have a limit: a hundred thousand of one list are too many.
    if (!(error instanceof RangeError)) throw error;
    return [{ code: "custom", path: [], message: "too many differences to list", input: value }];
  }
}

/**
 * Position of a value with another shape than the declaration: a field that is missing, or a string instead of a list.
 * Undefined if all that is declared can be read. Undeclared fields, choices and formats do not matter: services grow.
 */
export const findShapeProblem = (schema: z.ZodType, value: unknown): string | undefined =>
  getFirstShapeProblem(findIssues(schema, value), value);

/** The same of differences that were found in a value. */
export function getFirstShapeProblem(issues: readonly z.core.$ZodIssue[], value: unknown): string | undefined {
  const found = issues.find((issue) => isOfShape(issue, value));
  return found && `${found.path.map(String).join(".") || "the response"}: ${found.message}`;
}

/**
 * Another word than those that are declared is still a word, and nothing if one value is declared is read as nothing,
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

/** Containers. An item of a list has no name, so that a missing one is not expected. */
function isNeeded(issue: z.core.$ZodIssue): boolean {
  const name = issue.path.at(-1);
  if (typeof name !== "string" || /(?:^|_)(?:id|key|url)$/.test(name)) return true;
  return issue.code === "invalid_type" && ["object", "array", "record"].includes(issue.expected);
}
