import type { Operation } from "../../../src/api/operation.ts";
import type { DecodeProblem } from "../bodies/decode.ts";
import type { HttpResponse } from "../response.ts";
import type { ValidationProblem } from "./validation-problem.ts";

/** How one service words what the HTTP layer refuses. Pure functions. */
export interface Dialect {
  /** The fields are not as declared; `problems` in the order path, query, headers, body. */
  invalid(problems: readonly ValidationProblem[], operation: Operation): HttpResponse;
  unreadable(problem: DecodeProblem): HttpResponse;
  tooLarge(): HttpResponse;
  /** Nothing was kept; `refused` says of which file that is, where others can be written. */
  storeFailed(refused?: string): HttpResponse;
  /** Nothing is declared for this path; `nearest` is what the caller may have meant. */
  notFound(nearest: Operation | undefined): HttpResponse;
  methodNotAllowed(method: string, allowed: readonly string[]): HttpResponse;
  /** The emulator has a bug in the operation. */
  bug(operation: string): HttpResponse;
}

export const formatBugMessage = (operation: string): string =>
  `The emulator has a bug in ${operation}. This is not a response of the service. See its stderr.`;

/** `GET /path`, for hints. */
export const formatOperation = ({ method, path }: Operation): string => `${[method].flat()[0]} ${path}`;
