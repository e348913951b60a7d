import type { Operation } from "../../../src/api/operation.ts";
import type { Answer } from "../answer.ts";
import type { Unreadable } from "../bodies/decode.ts";
import type { Problem } from "./problem.ts";

/** How one service words what the HTTP layer refuses. Pure functions. */
export interface Dialect {
  /** The fields are not as declared; `problems` in the order path, query, headers, body. */
  invalid(problems: readonly Problem[], operation: Operation): Answer;
  unreadable(problem: Unreadable): Answer;
  tooLarge(): Answer;
  /** Nothing was kept; `refused` says of which file that is, where others can be written. */
  storeFailed(refused?: string): Answer;
  /** Nothing is declared for this path; `nearest` is what the caller may have meant. */
  notFound(nearest: Operation | undefined): Answer;
  methodNotAllowed(method: string, allowed: readonly string[]): Answer;
  /** The emulator has a bug in the operation. */
  bug(operation: string): Answer;
}

export const bugWords = (operation: string): string =>
  `The emulator has a bug in ${operation}: this is not an answer of the service. Its stderr says more.`;

/** `GET /path`, for hints. */
export const spelled = ({ method, path }: Operation): string => `${[method].flat()[0]} ${path}`;
