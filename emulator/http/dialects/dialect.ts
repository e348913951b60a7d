import type * as z from "zod";
import type { Operation } from "../../../src/api/operation.ts";
import type { DecodeProblem } from "../bodies/decode.ts";
import type { HttpResponse } from "../reply.ts";

/** How one service words the rejections of the HTTP layer. Pure functions. */
export interface Dialect {
  /** The fields do not match the declaration. `problems` has the order path, query, headers, body. */
  toInvalidResponse(problems: readonly ValidationProblem[], operation: Operation): HttpResponse;
  toUnreadableResponse(problem: DecodeProblem): HttpResponse;
  toTooLargeResponse(): HttpResponse;
  /** Nothing was stored. `rejected` names the file, if others can be written. */
  storeFailed(rejectedFile?: string): HttpResponse;
  /** Nothing is declared for this path. `nearest` is the operation that the client may have meant. */
  toNotFoundResponse(nearest: Operation | undefined): HttpResponse;
  toMethodNotAllowedResponse(method: string, allowed: readonly string[]): HttpResponse;
  /** The emulator has a bug in the operation. */
  toBugResponse(operation: string): HttpResponse;
}

export const formatBugMessage = (operation: string): string =>
  `The emulator has a bug in ${operation}. This is not a response of the service. See its stderr.`;

/** `GET /path`, for hints. */
export const formatOperation = ({ method, path }: Operation): string => `${[method].flat()[0]} ${path}`;

export type RequestPart = "path" | "query" | "header" | "body";
export type Issue = z.core.$ZodIssue;

/** One problem of a request, as zod found it. */
export interface ValidationProblem {
  readonly part: RequestPart;
  readonly issue: Issue;
  readonly schema: z.ZodType;
  /** The whole part as it was sent: fields as strings, or the JSON document with its numbers as written. */
  readonly sent: unknown;
}

/** Returns the value at a path of the input. Undefined if there is none. */
export function getValueAt(sent: unknown, path: readonly PropertyKey[]): unknown {
  let at = sent;
  for (const key of path) {
    if (at instanceof Map) at = at.get(key);
    else if (typeof at === "object" && at !== null && Object.hasOwn(at, key))
      at = (at as Record<PropertyKey, unknown>)[key];
    else return undefined;
  }
  return at;
}
