import { failureAnswer, jsonAnswer } from "../answer.ts";
import type { Unreadable } from "../bodies/decode.ts";
import { bugWords, type Dialect, spelled } from "./dialect.ts";
import type { Problem } from "./problem.ts";
import { pydanticErrors } from "./pydantic.ts";

const error = (code: string, message: string, hint?: string) => ({
  error: { code, message, ...(hint === undefined ? {} : { hint }) },
});

/** The emulator's own control plane: problems in words. */
export const control: Dialect = {
  invalid: (problems) => failureAnswer("invalid-control-input", { problems: problems.flatMap(wordsOf) }),
  unreadable: (problem) => failureAnswer("invalid-control-input", { problems: [unreadableWords(problem)] }),
  tooLarge: () => jsonAnswer(413, error("body_too_large", "The body is larger than the emulator takes.")),
  storeFailed: (refused) => failureAnswer("control-store-failed", { refused }),
  notFound: (nearest) =>
    jsonAnswer(
      404,
      error(
        "not_found",
        "The control plane has no such path.",
        nearest && `Nearest: ${nearest.id} ${spelled(nearest)}`,
      ),
    ),
  methodNotAllowed: (method, allowed) =>
    jsonAnswer(405, error("method_not_allowed", `${method} is not possible here.`, `Possible: ${allowed.join(", ")}`), [
      "allow",
      allowed.join(", "),
    ]),
  bug: (operation) => jsonAnswer(500, error("emulator_bug", bugWords(operation))),
};

/** `by: Input should be a valid string`; `query limit: …` and `path id: …` say where else to look. */
const wordsOf = (problem: Problem): string[] =>
  pydanticErrors(problem).map(({ path, msg }) => {
    const name = path.join(".");
    const field = problem.part === "body" ? name || "body" : `${problem.part} ${name}`;
    return `${field}: ${msg}`;
  });

function unreadableWords(problem: Unreadable): string {
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
