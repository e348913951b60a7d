import type { ValidationItem } from "../../../src/api/router/failures/index.ts";
import { SourceNumber } from "../bodies/python-json.ts";
import { failureResponse, jsonResponse } from "../response.ts";
import { type Dialect, formatBugMessage } from "./dialect.ts";
import { pydanticErrors } from "./pydantic.ts";
import type { ValidationProblem } from "./validation-problem.ts";

/** FastAPI ≥ 0.132 with pydantic 2 (DECISIONS.md, R1, P12). */
export const fastapi: Dialect = {
  invalid: (problems) => failureResponse("validation", problems.flatMap(itemsOf)),

  unreadable: (problem) => {
    if (problem.why === "json") {
      const item = {
        type: "json_invalid",
        loc: ["body", problem.at],
        msg: "JSON decode error",
        input: {},
        ctx: { error: problem.message },
      };
      return failureResponse("validation", [item]);
    }
    if (problem.why === "multipart") return jsonResponse(400, { detail: problem.message });
    if (problem.why === "repeated") {
      return failureResponse("invalid-request", { reason: `${problem.name} is repeated` });
    }
    return failureResponse("unparsable-body", undefined);
  },

  tooLarge: () => failureResponse("body-too-large", undefined),
  storeFailed: () => failureResponse("store-failed", undefined),
  notFound: () => jsonResponse(404, { detail: "Not Found" }),
  methodNotAllowed: (_, allowed) =>
    jsonResponse(405, { detail: "Method Not Allowed" }, ["allow", [...allowed].sort().join(", ")]),
  bug: (operation) => jsonResponse(500, { detail: formatBugMessage(operation) }),
};

/** Keys in the order of the wire; `input` is always there, `null` where nothing was sent. */
const itemsOf = (problem: ValidationProblem): ValidationItem[] =>
  pydanticErrors(problem).map(({ type, path, msg, input, ctx }) => ({
    type,
    loc: [problem.part, ...path],
    msg,
    input: quoted(input),
    ...(ctx && { ctx }),
  }));

/** So many characters of what was sent are quoted with one problem; a real service quotes all (DECISIONS.md, E11). */
const longestQuote = 65_536;

/** What an error quotes of the input: nothing as null, and a note in the place of what is too long. */
const quoted = (input: unknown): unknown =>
  lengthLeft(input, longestQuote) < 0 ? `(omitted: more than ${longestQuote} characters)` : (input ?? null);

/** What is left of a length once a value is written; below 0 as soon as it does not fit. */
function lengthLeft(value: unknown, length: number): number {
  if (typeof value === "string") return length - value.length - 2;
  if (value instanceof SourceNumber) return length - value.text.length;
  if (typeof value !== "object" || value === null) return length - 4;
  let left = length - 2;
  const members = value instanceof Map ? value : Array.isArray(value) ? value.entries() : Object.entries(value);
  for (const [name, member] of members) {
    left = lengthLeft(member, left - (typeof name === "string" ? name.length + 4 : 1));
    if (left < 0) break;
  }
  return left;
}
