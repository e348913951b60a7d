import { isOAuthRequest, type Operation } from "../../../src/api/operation.ts";
import type { Service } from "../../../src/api/services.ts";
import type { DecodeProblem } from "../bodies/decode.ts";
import { failureResponse, type HttpResponse, jsonResponse } from "../reply.ts";
import { type Dialect, formatBugMessage, formatOperation, type ValidationProblem, valueAt } from "./dialect.ts";
import { fastapi, pydanticErrors } from "./pydantic.ts";

/** The contract API: shapes A and C (DECISIONS.md, F4, C1). */
const platform: Dialect = {
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

/** The text of Python's ValueError: `Expecting value: line 1 column 6 (char 5)`. */
function reasonOf(problem: DecodeProblem): string {
  if (problem.why === "json") {
    const { message, line, column, at } = problem;
    return `${message}: line ${line} column ${column} (char ${at})`;
  }
  if (problem.why === "limit") return `The document is ${problem.message}`;
  return "'utf-8' codec can't decode the body: invalid byte";
}

/**
 * The routing service, where the specification declares no schema for a request of OAuth: an unreadable request is
 * `invalid_request` (RFC 6749, 5.2; DECISIONS.md, P1).
 */
const oauth: Dialect = {
  ...fastapi,
  invalid: ([first]) => invalidRequest(wrongIn(first!)),
  unreadable: (problem) => (problem.why === "repeated" ? fastapi.unreadable(problem) : invalidRequest(noParameters)),
};

const invalidRequest = (reason: string) => failureResponse("invalid-request", { reason });

const noParameters = "The body is neither a form nor a JSON object";

/** All parameters are strings. */
const wrongIn = ({ issue: { path } }: ValidationProblem): string =>
  path.length === 0 ? noParameters : `${path.map(String).join(".")} is not a string`;

const error = (code: string, message: string, hint?: string) => ({
  error: { code, message, ...(hint === undefined ? {} : { hint }) },
});

/** The emulator's own control plane: problems in words. */
const control: Dialect = {
  invalid: (problems) => failureResponse("invalid-control-input", { problems: problems.flatMap(wordsOf) }),
  unreadable: (problem) => failureResponse("invalid-control-input", { problems: [unreadableWords(problem)] }),
  tooLarge: () => jsonResponse(413, error("body_too_large", "The body is larger than the limit of the emulator.")),
  storeFailed: (refused) => failureResponse("control-store-failed", { refused }),
  notFound: (nearest) =>
    jsonResponse(
      404,
      error(
        "not_found",
        "Path not found in the control plane.",
        nearest && `Nearest: ${nearest.id} ${formatOperation(nearest)}`,
      ),
    ),
  methodNotAllowed: (method, allowed) =>
    jsonResponse(
      405,
      error("method_not_allowed", `Method ${method} is not allowed.`, `Allowed: ${allowed.join(", ")}`),
      ["allow", allowed.join(", ")],
    ),
  bug: (operation) => jsonResponse(500, error("emulator_bug", formatBugMessage(operation))),
};

/** `by: Input should be a valid string`; `query limit: …` and `path id: …` say where else to look. */
const wordsOf = (problem: ValidationProblem): string[] =>
  pydanticErrors(problem).map(({ path, msg }) => {
    const name = path.join(".");
    const field = problem.part === "body" ? name || "body" : `${problem.part} ${name}`;
    return msg.startsWith("must ") ? `${field} ${msg}` : `${field}: ${msg}`;
  });

function unreadableWords(problem: DecodeProblem): string {
  switch (problem.why) {
    case "json":
      return `body: not JSON, ${problem.message} at character ${problem.at}`;
    case "media-type":
      return `body: content-type must be application/json, not ${JSON.stringify(problem.type)}`;
    case "limit":
      return `body: ${problem.message}`;
    default:
      return "body: cannot be decoded";
  }
}

export const dialects: Readonly<Record<Service["dialect"], Dialect>> = { fastapi, platform, control };

/** How what an operation rejects is worded. */
export const dialectOf = ({ service, request: { body } }: Operation): Dialect =>
  isOAuthRequest(body) ? oauth : dialects[service.dialect];
