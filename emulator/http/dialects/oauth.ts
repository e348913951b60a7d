import { failureResponse } from "../response.ts";
import type { Dialect } from "./dialect.ts";
import { fastapi } from "./fastapi.ts";
import type { ValidationProblem } from "./validation-problem.ts";

/**
 * The routing service, where the specification declares no schema for a request that OAuth does: what cannot be read is
 * `invalid_request` (RFC 6749, 5.2; DECISIONS.md, P1).
 */
export const oauth: Dialect = {
  ...fastapi,
  invalid: ([first]) => invalidRequest(wrongIn(first!)),
  unreadable: (problem) => (problem.why === "repeated" ? fastapi.unreadable(problem) : invalidRequest(noParameters)),
};

const invalidRequest = (reason: string) => failureResponse("invalid-request", { reason });

const noParameters = "The body is neither a form nor a JSON object";

/** All parameters are texts. */
const wrongIn = ({ issue: { path } }: ValidationProblem): string =>
  path.length === 0 ? noParameters : `${path.map(String).join(".")} is not a string`;
