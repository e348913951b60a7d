import type * as z from "zod";
import type { CallableOperation } from "../api/operation.ts";
import { toPlainNumbers } from "../base/json.ts";
import { findPlaceholders } from "../base/urls.ts";
import { type ArgumentProblem, InvalidArgumentsError } from "./errors.ts";

/** Arguments of an operation, before their types are known. */
export interface CallArguments {
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
  readonly body?: unknown;
}

/** A call with valid arguments. Requests are only built from such calls, and arguments are only checked here. */
export class CheckedCall {
  readonly operation: CallableOperation;
  readonly args: CallArguments;
  /** Makes the type nominal. */
  declare protected readonly isChecked: true;

  private constructor(operation: CallableOperation, args: CallArguments) {
    this.operation = operation;
    this.args = args;
  }

  /**
   * Throws InvalidArgumentsError, which names every invalid argument. Without schemas an operation accepts anything.
   */
  static check(operation: CallableOperation, args: CallArguments = {}): CheckedCall {
    const problems = findProblems(operation, args);
    if (problems.length > 0) throw new InvalidArgumentsError(operation.id, problems);
    return new CheckedCall(operation, args);
  }

  /**
   * The same call with values that the program computed: the hash of an address, the headers of a signature, the query
   * of the next page. They are valid by construction and not checked again.
   */
  with(changes: CallArguments): CheckedCall {
    return new CheckedCall(this.operation, { ...this.args, ...changes });
  }
}

/** Arguments that do not fit the declaration. */
function findProblems(operation: CallableOperation, args: CallArguments): ArgumentProblem[] {
  const { params, query, headers, body } = operation.request;
  // The signed URL of a storage call contains them.
  if (operation.service.name === "storage") return [];
  return [
    ...findPathProblems(operation.path, args.params ?? {}),
    ...findPartProblems("params", params, args.params ?? {}),
    ...findPartProblems("query", query, args.query ?? {}),
    ...findPartProblems("headers", headers, args.headers ?? {}),
    ...findPartProblems("body", body?.schema, toPlainNumbers(args.body)),
  ];
}

/** Rejects values that would change the path to that of another operation: "" of a list, ".." of its parent. */
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

/** All differences between a value and its declaration. */
export function findIssues(schema: z.ZodType, value: unknown): readonly z.core.$ZodIssue[] {
  try {
    // Most processes check one response, so compiling a fast parser would cost more than it saves.
    return schema.safeParse(value, { jitless: true }).error?.issues ?? [];
  } catch (error) {
    // Zod passes issues as the arguments of one call, which are limited. A list with a hundred thousand issues exceeds
    // that.
    if (!(error instanceof RangeError)) throw error;
    return [{ code: "custom", path: [], message: "too many differences to list", input: value }];
  }
}

/**
 * The path of a value with another shape than declared: a missing field, or a string instead of a list. Undefined if
 * every declared field is readable. Undeclared fields, choices and formats do not matter, because services grow.
 */
export const findShapeProblem = (schema: z.ZodType, value: unknown): string | undefined =>
  getFirstShapeProblem(findIssues(schema, value), value);

/** The same, for issues that were already found. */
export function getFirstShapeProblem(issues: readonly z.core.$ZodIssue[], value: unknown): string | undefined {
  const found = issues.find((issue) => isOfShape(issue, value));
  return found && `${found.path.map(String).join(".") || "the response"}: ${found.message}`;
}

/**
 * Whether an issue changes the shape. An undeclared word is still a word, and null can replace a value, except for an
 * id, a URL or a key, which the next call needs. For a choice of shapes, none must match.
 */
function isOfShape(issue: z.core.$ZodIssue, value: unknown): boolean {
  const given = issue.path.reduce((inner: unknown, step) => (inner as Record<PropertyKey, unknown>)?.[step], value);
  const isMissing = given === undefined || given === null;
  if (isMissing && issue.path.length > 0 && !isNeeded(issue)) return false;
  if (issue.code === "invalid_type") return true;
  if (issue.code === "invalid_value") return issue.values.every((one) => typeof one !== typeof given);
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return false;
  return issue.errors.every((branch) => branch.some((one) => isOfShape(one, given)));
}

/** Containers. List items have no names, so none can be missing. */
function isNeeded(issue: z.core.$ZodIssue): boolean {
  const name = issue.path.at(-1);
  if (typeof name !== "string" || /(?:^|_)(?:id|key|url)$/.test(name)) return true;
  return issue.code === "invalid_type" && ["object", "array", "record"].includes(issue.expected);
}
