import type { ValidationItem } from "../../../src/api/router/failures/index.ts";
import { failureAnswer, jsonAnswer } from "../answer.ts";
import { heaviest } from "../bodies/weight.ts";
import { bugWords, type Dialect } from "./dialect.ts";
import type { Problem } from "./problem.ts";
import { pydanticErrors } from "./pydantic.ts";
import { quoted } from "./quoted.ts";

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
    if (problem.why === "parts") {
      // Starlette's words.
      return jsonAnswer(400, {
        detail: `Too many fields. Maximum number of fields is ${heaviest.parts}.`,
      });
    }
    if (problem.why === "repeated") {
      return failureAnswer("invalid-request", { reason: `${problem.name} is given more than once` });
    }
    if (problem.why === "boundary") return jsonAnswer(400, { detail: "Missing boundary in multipart." });
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
