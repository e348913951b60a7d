import type { Operation } from "../../../src/api/operation.ts";
import type { DecodeProblem } from "../bodies/decode.ts";
import { failureResponse, type HttpResponse, jsonResponse } from "../response.ts";
import { type Dialect, formatBugMessage } from "./dialect.ts";
import { pydanticErrors } from "./pydantic.ts";
import { type ValidationProblem, valueAt } from "./validation-problem.ts";

/** The contract API: shapes A and C (DECISIONS.md, F4, C1). */
export const platform: Dialect = {
  invalid: (problems, operation) =>
    isUnknownPath(problems, operation)
      ? failureResponse("not-found", undefined)
      : failureResponse("invalid-fields", fieldsOf(problems)),

  unreadable: (problem) =>
    problem.why === "media-type"
      ? failureResponse("unsupported-media-type", { type: problem.type })
      : failureResponse("json-parse-error", { reason: reasonOf(problem) }),

  tooLarge: () => failureResponse("contracts-body-too-large", undefined),
  storeFailed: () => failureResponse("contracts-store-failed", undefined),
  notFound: () => failureResponse("not-found", undefined),
  methodNotAllowed: (method, allowed): HttpResponse => {
    const answer = failureResponse("method-not-allowed", { method });
    return { ...answer, headers: [...answer.headers, "allow", allowed.join(", ")] };
  },
  bug: (operation) => jsonResponse(500, { detail: formatBugMessage(operation) }),
};

/** An id that cannot be one is an unknown id. */
const isUnknownPath = (problems: readonly ValidationProblem[], { failures }: Operation): boolean =>
  problems.some(({ part }) => part === "path") && failures.includes("not-found");

interface Fields {
  [name: string]: string[] | Fields;
}

/** `{"assignees": {"0": {"entity_id": ["Field required"]}}}`: lists of rows are keyed by index. */
function fieldsOf(problems: readonly ValidationProblem[]): Fields {
  const fields: Fields = Object.create(null);
  for (const problem of problems) {
    for (const { path, msg, type, input } of pydanticErrors(problem)) {
      if (path.length === 0) add(fields, ["non_field_errors"], wholeBody(type, input));
      else add(fields, path.map(String), msg);
    }
  }
  return fields;
}

/** The framework's own words for a body that is no object. */
const wholeBody = (type: string, input: unknown): string =>
  type === "missing" ? "No data provided" : `Invalid data. Expected a dictionary, but got ${pythonType(input)}.`;

function pythonType(input: unknown): string {
  if (Array.isArray(input)) return "list";
  if (typeof input === "string") return "str";
  if (typeof input === "boolean") return "bool";
  if (input === null || input === undefined) return "NoneType";
  return /^-?\d+$/.test(String(valueAt(input, ["text"]) ?? input)) ? "int" : "float";
}

function add(fields: Fields, path: readonly string[], message: string): void {
  const [name, ...rest] = path as [string, ...string[]];
  const known = fields[name];
  if (rest.length === 0) {
    if (Array.isArray(known)) known.push(message);
    else fields[name] ??= [message];
    return;
  }
  if (Array.isArray(known)) return;
  const inner: Fields = known ?? Object.create(null);
  fields[name] = inner;
  add(inner, rest, message);
}

/** What Python's ValueError says: `Expecting value: line 1 column 6 (char 5)`. */
function reasonOf(problem: DecodeProblem): string {
  if (problem.why === "json") {
    const { message, line, column, at } = problem;
    return `${message}: line ${line} column ${column} (char ${at})`;
  }
  if (problem.why === "limit") return `The document is ${problem.message}`;
  return "'utf-8' codec can't decode the body: invalid byte";
}
