import type * as z from "zod";
import type { CallableOperation } from "../api/operation.ts";
import { plainNumbers } from "../base/exact-json.ts";
import { placeholders } from "../base/url-template.ts";
import { type ArgumentProblem, InvalidArgumentsError } from "./errors.ts";

/** What a caller passes to an operation, before its types are known. */
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
  /** What looks like one is none. */
  declare protected readonly isChecked: true;

  private constructor(operation: CallableOperation, args: CallArguments) {
    this.operation = operation;
    this.args = args;
  }

  /** Throws InvalidArgumentsError, which names all that does not fit. Without its schemas an operation takes anything. */
  static of(operation: CallableOperation, args: CallArguments = {}): CheckedCall {
    const problems = problemsIn(operation, args);
    if (problems.length > 0) throw new InvalidArgumentsError(operation.id, problems);
    return new CheckedCall(operation, args);
  }

  /**
   * The same call with what the program itself puts in the place of what was checked: the hash of an address, the
   * headers of a signature, the query of the next page. It fits as it is made, and is not checked again.
   */
  with(changes: CallArguments): CheckedCall {
    return new CheckedCall(this.operation, { ...this.args, ...changes });
  }
}

/** Where the arguments do not fit the declaration. */
function problemsIn(operation: CallableOperation, args: CallArguments): ArgumentProblem[] {
  const { params, query, headers, body } = operation.request;
  // The signed URL of a storage call holds them all.
  if (operation.service.name === "storage") return [];
  return [
    ...pathProblems(operation.path, args.params ?? {}),
    ...partProblems("params", params, args.params ?? {}),
    ...partProblems("query", query, args.query ?? {}),
    ...partProblems("headers", headers, args.headers ?? {}),
    ...partProblems("body", body?.schema, plainNumbers(args.body)),
  ];
}

/** Values of which the path would be that of another operation: "" of a list, ".." of what stands above. */
function pathProblems(path: string, params: NonNullable<CallArguments["params"]>): ArgumentProblem[] {
  return placeholders(path).flatMap((name) => {
    const value = params[name];
    if (name === "full_path" || typeof value !== "string") return [];
    const rule =
      value.trim() === "" ? "not be empty" : value === "." || value === ".." ? `not be "${value}"` : undefined;
    return rule === undefined ? [] : [{ in: "params", path: [name], message: `must ${rule}`, missing: false }];
  });
}

function partProblems(part: ArgumentProblem["in"], schema: z.ZodType | undefined, value: unknown): ArgumentProblem[] {
  const parsed = schema?.safeParse(value, { jitless: true });
  if (!parsed || parsed.success) return [];
  return parsed.error.issues.map((issue) => {
    const path = issue.path.map((step) => (typeof step === "number" ? step : String(step)));
    const given = path.reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], value);
    return { in: part, path, message: issue.message, missing: given === undefined };
  });
}
