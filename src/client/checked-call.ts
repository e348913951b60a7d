import type * as z from "zod";
import type { CallableOperation } from "../api/operation.ts";
import { describeIssue, expandUnion } from "../base/issues.ts";
import { toPlainNumbers } from "../base/json.ts";
import { getValueAt, isAsyncIterable, isObject } from "../base/object.ts";
import { findPlaceholders } from "../base/urls.ts";
import { type ArgumentProblem, InvalidArgumentsError } from "./errors.ts";

export interface CallArguments {
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
  readonly body?: unknown;
}

/**
 * Call with valid arguments. Only this class checks arguments, and requests are built only from its instances.
 */
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
   * Checks the arguments. Throws InvalidArgumentsError with every invalid argument. An operation without schemas
   * accepts any arguments.
   */
  static check(operation: CallableOperation, args: CallArguments = {}): CheckedCall {
    const problems = findProblems(operation, args);
    if (problems.length > 0) throw new InvalidArgumentsError(operation.id, problems);
    return new CheckedCall(operation, args);
  }

  /**
   * Returns the same call with computed values: the hash of an address, the headers of a signature, the query of the
   * next page. Computed values are valid by construction and not checked again.
   */
  with(changes: CallArguments): CheckedCall {
    return new CheckedCall(this.operation, { ...this.args, ...changes });
  }
}

export function findProblems(operation: CallableOperation, args: CallArguments): ArgumentProblem[] {
  const { params, query, headers, body } = operation.request;
  if ((body?.kind === "raw" || body?.kind === "stream") && !isSendable(args.body))
    return [{ in: "body", path: [], message: "must be bytes, a string or a stream of bytes", missing: false }];
  // The signed URL of a storage call contains the parameters.
  if (operation.service.name === "storage") return [];
  return [
    ...findPathProblems(operation.path, args.params ?? {}),
    ...findPartProblems("params", params, args.params ?? {}),
    ...findPartProblems("query", query, args.query ?? {}),
    ...findPartProblems("headers", headers, args.headers ?? {}),
    ...findPartProblems("body", body?.schema, toPlainNumbers(args.body)),
  ];
}

/** A Blob or an ArrayBuffer has no bytes that can be read here. Functions return streams. */
const isSendable = (body: unknown): boolean =>
  body === undefined ||
  typeof body === "string" ||
  typeof body === "function" ||
  ArrayBuffer.isView(body) ||
  isAsyncIterable(body);

/**
 * Finds values that would change the path to that of another operation. An empty ID gives the path of the list, and
 * ".." gives the path of the parent.
 */
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
  const issues = schema ? findIssues(schema, value) : [];
  return issues.flatMap(expandUnion).map((issue) => {
    const path = issue.path.map((step) => (typeof step === "number" ? step : String(step)));
    const { rule }: { rule?: string } = issue.code === "custom" ? { ...issue.params } : {};
    const paths = rule === undefined ? [path] : findPlaceholders(rule).map((name) => [...path, name]);
    const missing = paths.every((path) => getValueAt(value, path) === undefined);
    return { in: part, path, message: describeIssue(issue), missing, ...(rule && { rule }) };
  });
}

export function findIssues(schema: z.ZodType, value: unknown): readonly z.core.$ZodIssue[] {
  try {
    // Most processes check one response, so compiling a fast parser would cost more time than it saves.
    return schema.safeParse(value, { jitless: true }).error?.issues ?? [];
  } catch (error) {
    // Zod passes issues as the arguments of one call, whose number is limited. A list with a hundred thousand issues
    // exceeds the limit.
    if (!(error instanceof RangeError)) throw error;
    const message = "too many invalid values to list";
    return [...findFirstIssues(schema, value), { code: "custom", path: [], message, input: value }];
  }
}

/**
 * Finds the first issues of a value with too many of them, in longer and longer beginnings of its lists. Finds none in
 * an object with too many of them, or in a value that is too deep.
 */
function findFirstIssues(schema: z.ZodType, value: unknown): readonly z.core.$ZodIssue[] {
  try {
    for (let maxLength = 10; maxLength < 100_000; maxLength *= 2) {
      const issues = schema.safeParse(shortenLists(value, maxLength), { jitless: true }).error?.issues ?? [];
      if (issues.length > 0) return issues.slice(0, 10);
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return [];
}

/** No schema is deeper than `maxDepth`. */
function shortenLists(value: unknown, maxLength: number, maxDepth = 50): unknown {
  const shorten = (inner: unknown) => shortenLists(inner, maxLength, maxDepth - 1);
  if (maxDepth === 0) return value;
  if (Array.isArray(value)) return value.slice(0, maxLength).map(shorten);
  if (!isObject(value) || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shorten(inner)]));
}

/**
 * Finds the path of a value whose shape differs from the declaration: a missing field, or a string instead of a list.
 * Returns undefined if every declared field is readable. Undeclared fields, choices and formats do not matter, because
 * services grow.
 */
export const findShapeProblem = (schema: z.ZodType, value: unknown): string | undefined =>
  getFirstShapeProblem(findIssues(schema, value), value);

export function getFirstShapeProblem(issues: readonly z.core.$ZodIssue[], value: unknown): string | undefined {
  const issue = issues.find((issue) => isShapeIssue(issue, value));
  return issue && `${issue.path.map(String).join(".") || "the response"}: ${issue.message}`;
}

/**
 * Reports whether an issue changes the shape. An undeclared word is still a word. Null can replace a value, except an
 * ID, a URL or a key, because the next call needs these. In a choice of shapes, the value must match none of them.
 */
function isShapeIssue(issue: z.core.$ZodIssue, value: unknown): boolean {
  const inputValue = getValueAt(value, issue.path);
  const isMissing = inputValue === undefined || inputValue === null;
  if (isMissing && issue.path.length > 0 && !isRequiredValue(issue)) return false;
  if (issue.code === "invalid_type") return true;
  if (issue.code === "invalid_value") return issue.values.every((value) => typeof value !== typeof inputValue);
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return false;
  return issue.errors.every((branch) => branch.some((issue) => isShapeIssue(issue, inputValue)));
}

/**
 * Reports whether null or a missing value makes the response unreadable. Ids, URLs, keys, containers and items of lists
 * are needed.
 */
function isRequiredValue(issue: z.core.$ZodIssue): boolean {
  const name = issue.path.at(-1);
  if (typeof name !== "string" || /(?:^|_)(?:id|key|url)$/.test(name)) return true;
  return issue.code === "invalid_type" && ["object", "array", "record"].includes(issue.expected);
}
