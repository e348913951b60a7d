import { isOAuthRequest, type Operation } from "../../../src/api/operation.ts";
import type { ValidationItem } from "../../../src/api/router/failures.ts";
import type { Service } from "../../../src/api/services.ts";
import { getValueAt } from "../../../src/base/object.ts";
import type { DecodeProblem } from "../bodies/json.ts";
import { SourceNumber } from "../bodies/python-json.ts";
import { createErrorResponse, createFailureResponse, createJsonResponse, type HttpResponse } from "../reply.ts";
import type { ValidationProblem } from "../validation/schema.ts";
import { ProblemCollector } from "./field-problems.ts";
import { toPydanticErrors } from "./pydantic.ts";

/** Responses of one service to requests that the HTTP layer rejects. All functions are pure. */
export interface ErrorDialect {
  /** `problems` are fields that do not match the declaration: path, query, headers, body. */
  toInvalidResponse(problems: readonly ValidationProblem[], operation: Operation): HttpResponse;
  toUnreadableResponse(problem: DecodeProblem): HttpResponse;
  toTooLargeResponse(): HttpResponse;
  /** Nothing was stored. `rejectedFile` names the file if other files can be written. `reason` names no path. */
  toStoreFailedResponse(rejectedFile?: string, reason?: string): HttpResponse;
  /** The path is undeclared. `nearest` is the operation that the client may have meant. */
  toNotFoundResponse(nearest: Operation | undefined): HttpResponse;
  toMethodNotAllowedResponse(method: string, allowedMethods: readonly string[]): HttpResponse;
}

/** Formats `GET /path` for hints. */
export const formatOperation = ({ method, path }: Operation): string => `${[method].flat()[0]} ${path}`;

/** Dialect of the contract API with shapes A and C (DECISIONS.md, F4, C1). */
const platformDialect: ErrorDialect = {
  toInvalidResponse(problems, operation) {
    const pathFailure = findPathFailure(problems, operation);
    return pathFailure
      ? createFailureResponse(pathFailure, undefined)
      : createFailureResponse("invalid-fields", toFieldProblems(problems));
  },

  toUnreadableResponse: (problem) =>
    problem.reason === "media-type"
      ? createFailureResponse("unsupported-media-type", { type: problem.type })
      : createFailureResponse("json-parse-error", { reason: describeDecodeProblem(problem) }),

  toTooLargeResponse: () => createFailureResponse("contracts-body-too-large", undefined),
  toStoreFailedResponse: () => createFailureResponse("contracts-store-failed", undefined),
  toNotFoundResponse: () => createFailureResponse("not-found", undefined),
  toMethodNotAllowedResponse: (method, allowedMethods): HttpResponse => {
    const response = createFailureResponse("method-not-allowed", { method });
    return { ...response, headers: [...response.headers, "allow", allowedMethods.join(", ")] };
  },
};

/** An invalid ID gets the response of an unknown path, a number that is too large the response of an unknown ID. */
function findPathFailure(problems: readonly ValidationProblem[], { failures, hidesMissing }: Operation) {
  const problem = problems.find(({ part }) => part === "path");
  if (!problem || !failures.includes("not-found")) return undefined;
  const isNumber = /^\d+$/.test(String(getValueAt(problem.source, problem.issue.path)));
  return hidesMissing && isNumber ? "permission-denied" : "not-found";
}

/** Formats problems as `{"assignees": {"0": {"entity_id": ["Field required"]}}}`. Lists of rows are keyed by index. */
function toFieldProblems(problems: readonly ValidationProblem[]) {
  const collector = new ProblemCollector();
  for (const { path, msg, type, input } of problems.flatMap(toPydanticErrors)) {
    if (path.length === 0) collector.add(["non_field_errors"], describeBody(type, input));
    else collector.add(path, msg);
  }
  return collector.fields;
}

/** Returns the framework's message for a body that is not an object. */
const describeBody = (type: string, input: unknown): string =>
  type === "missing" ? "No data provided" : `Invalid data. Expected a dictionary, but got ${getPythonType(input)}.`;

function getPythonType(input: unknown): string {
  if (Array.isArray(input)) return "list";
  if (typeof input === "string") return "str";
  if (typeof input === "boolean") return "bool";
  if (input === null || input === undefined) return "NoneType";
  return /^-?\d+$/.test(String(getValueAt(input, ["text"]) ?? input)) ? "int" : "float";
}

/** Formats the text of Python's ValueError: `Expecting value: line 1 column 6 (char 5)`. */
function describeDecodeProblem(problem: DecodeProblem): string {
  if (problem.reason === "json") {
    const { message, line, column, at } = problem;
    return `${message}: line ${line} column ${column} (char ${at})`;
  }
  if (problem.reason === "limit") return `The document ${problem.message}`;
  if (problem.reason === "constant") return `Out of range float values are not JSON compliant: '${problem.word}'`;
  return "'utf-8' codec can't decode the body: invalid byte";
}

/** Dialect of FastAPI ≥ 0.132 with pydantic 2 (DECISIONS.md, R1, P12). */
const fastapiDialect: ErrorDialect = {
  toInvalidResponse: (problems) => createFailureResponse("validation", problems.flatMap(toItems)),

  toUnreadableResponse: (problem) => {
    if (problem.reason === "json") {
      const item = {
        type: "json_invalid",
        loc: ["body", problem.at],
        msg: "JSON decode error",
        input: {},
        ctx: { error: problem.message },
      };
      return createFailureResponse("validation", [item]);
    }
    if (problem.reason === "multipart") return createJsonResponse(400, { detail: problem.message });
    if (problem.reason === "repeated") {
      return createFailureResponse("invalid-request", { reason: `${problem.name} is repeated` });
    }
    return createFailureResponse("unparsable-body", undefined);
  },

  toTooLargeResponse: () => createFailureResponse("body-too-large", undefined),
  toStoreFailedResponse: () => createFailureResponse("store-failed", undefined),
  toNotFoundResponse: () => createJsonResponse(404, { detail: "Not Found" }),
  toMethodNotAllowedResponse: (_, allowed) =>
    createJsonResponse(405, { detail: "Method Not Allowed" }, ["allow", [...allowed].sort().join(", ")]),
};

/** Formats the errors with their keys in wire order. `input` is always present. It is `null` if nothing was sent. */
const toItems = (problem: ValidationProblem): ValidationItem[] =>
  toPydanticErrors(problem).map(({ type, path, msg, input, ctx }) => ({
    type,
    loc: [problem.part, ...path],
    msg,
    input: quoteInput(input),
    ...(ctx && { ctx }),
  }));

/** Characters of the input that one problem quotes. A real service quotes all of it (DECISIONS.md, E11). */
const maxQuoteLength = 65_536;

/** Quotes the input in an error. Returns null if there is no input, and a note if the input is too long. */
const quoteInput = (input: unknown): unknown =>
  subtractLength(input, maxQuoteLength) < 0 ? `(omitted: more than ${maxQuoteLength} characters)` : (input ?? null);

/** Subtracts the length of a written value and stops once the result is negative, because the value does not fit. */
function subtractLength(value: unknown, length: number): number {
  if (typeof value === "string") return length - value.length - 2;
  if (value instanceof SourceNumber) return length - value.text.length;
  if (typeof value !== "object" || value === null) return length - 4;
  let remaining = length - 2;
  const members = value instanceof Map ? value : Array.isArray(value) ? value.entries() : Object.entries(value);
  for (const [name, member] of members) {
    remaining = subtractLength(member, remaining - (typeof name === "string" ? name.length + 4 : 1));
    if (remaining < 0) break;
  }
  return remaining;
}

/**
 * Dialect of the routing service for OAuth requests without a schema in the specification. An unreadable request is
 * `invalid_request` (RFC 6749, 5.2; DECISIONS.md, P1).
 */
const oauthDialect: ErrorDialect = {
  ...fastapiDialect,
  toInvalidResponse: ([first]) => createInvalidRequest(describePosition(first!)),
  toUnreadableResponse: (problem) =>
    problem.reason === "repeated"
      ? fastapiDialect.toUnreadableResponse(problem)
      : createInvalidRequest(noParametersMessage),
};

const createInvalidRequest = (reason: string) => createFailureResponse("invalid-request", { reason });

const noParametersMessage = "The body is neither a form nor a JSON object";

/** All parameters are strings. */
const describePosition = ({ issue: { path } }: ValidationProblem): string =>
  path.length === 0 ? noParametersMessage : `${path.map(String).join(".")} is not a string`;

/** Dialect of the emulator's own control plane, which lists problems as text. */
const controlDialect: ErrorDialect = {
  toInvalidResponse: (problems) =>
    createFailureResponse("invalid-control-input", { problems: problems.flatMap(formatProblem) }),
  toUnreadableResponse: (problem) =>
    createFailureResponse("invalid-control-input", { problems: [formatUnreadable(problem)] }),
  toTooLargeResponse: () =>
    createErrorResponse(true, {
      status: 413,
      code: "body_too_large",
      message: "The body is larger than the limit of the emulator.",
    }),
  toStoreFailedResponse: (refused, reason) => createFailureResponse("control-store-failed", { refused, reason }),
  toNotFoundResponse: (nearest) =>
    createErrorResponse(true, {
      status: 404,
      code: "not_found",
      message: "Path not found in the control plane.",
      hint: nearest && `Nearest: ${nearest.id} ${formatOperation(nearest)}`,
    }),
  toMethodNotAllowedResponse: (method, allowedMethods) => {
    const methods = allowedMethods.join(", ");
    return createErrorResponse(true, {
      status: 405,
      code: "method_not_allowed",
      message: `Method ${method} is not allowed.`,
      hint: `Allowed: ${methods}`,
      headers: ["allow", methods],
    });
  },
};

/** Formats `by: Input should be a valid string`. `query limit: …` and `path id: …` name the part. */
function formatProblem(problem: ValidationProblem): string[] {
  const { part, issue } = problem;
  const errors =
    issue.code === "unrecognized_keys" ? [{ path: issue.path, msg: issue.message }] : toPydanticErrors(problem);
  return errors.map(({ path, msg }) => {
    const name = path.join(".");
    const field = part === "body" && name !== "" ? name : `${part} ${name}`.trimEnd();
    return msg.startsWith("must ") ? `${field} ${msg}` : `${field}: ${msg}`;
  });
}

function formatUnreadable(problem: DecodeProblem): string {
  switch (problem.reason) {
    case "json":
      return `body: not JSON, ${problem.message} at character ${problem.at}`;
    case "constant":
      return `body: not JSON, it contains ${problem.word}`;
    case "media-type":
      return `body: content-type must be application/json, not ${JSON.stringify(problem.type)}`;
    case "limit":
      return `body: ${problem.message}`;
    default:
      return "body: cannot be decoded";
  }
}

export const dialects: Readonly<Record<Service["dialect"], ErrorDialect>> = {
  fastapi: fastapiDialect,
  platform: platformDialect,
  control: controlDialect,
};

export const getDialect = ({ service, request: { body } }: Operation): ErrorDialect =>
  isOAuthRequest(body) ? oauthDialect : dialects[service.dialect];
