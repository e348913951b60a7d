import type { DecodeProblem } from "../bodies/decode.ts";
import { failureResponse, jsonResponse } from "../response.ts";
import { type Dialect, formatBugMessage, formatOperation } from "./dialect.ts";
import { pydanticErrors } from "./pydantic.ts";
import type { ValidationProblem } from "./validation-problem.ts";

const error = (code: string, message: string, hint?: string) => ({
  error: { code, message, ...(hint === undefined ? {} : { hint }) },
});

/** The emulator's own control plane: problems in words. */
export const control: Dialect = {
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
