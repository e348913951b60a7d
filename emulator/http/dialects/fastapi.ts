import type { ValidationItem } from "../../../src/api/router/failures/index.ts";
import { failureAnswer, jsonAnswer } from "../answer.ts";
import { SourceNumber } from "../bodies/python-json.ts";
import { bugWords, type Dialect } from "./dialect.ts";
import type { Problem } from "./problem.ts";
import { pydanticErrors } from "./pydantic.ts";

/** FastAPI ≥ 0.132 with pydantic 2 (DECISIONS.md, R1, P12). */
export const fastapi: Dialect = {
  invalid: (problems) => failureAnswer("validation", problems.flatMap(itemsOf)),

  unreadable: (problem) => {
    if (problem.why === "json") {
      const item = {
        type: "json_invalid",
        loc: ["body", problem.at],
        msg: "JSON decode error",
        input: {},
        ctx: { error: problem.message },
      };
      return failureAnswer("validation", [item]);
    }
    if (problem.why === "multipart") return jsonAnswer(400, { detail: problem.message });
    if (problem.why === "repeated") {
      return failureAnswer("invalid-request", { reason: `${problem.name} is given more than once` });
    }
    return failureAnswer("unparsable-body", undefined);
  },

  tooLarge: () => failureAnswer("body-too-large", undefined),
  storeFailed: () => failureAnswer("store-failed", undefined),
  notFound: () => jsonAnswer(404, { detail: "Not Found" }),
  methodNotAllowed: (_, allowed) =>
    jsonAnswer(405, { detail: "Method Not Allowed" }, ["allow", [...allowed].sort().join(", ")]),
  bug: (operation) => jsonAnswer(500, { detail: bugWords(operation) }),
};

/** Keys in the order of the wire; `input` is always there, `null` where nothing was sent. */
const itemsOf = (problem: Problem): ValidationItem[] =>
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
  lengthLeft(input, longestQuote) < 0 ? `(left out: more than ${longestQuote} characters)` : (input ?? null);

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
