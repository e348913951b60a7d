import type * as z from "zod";
import type { Operation } from "../../../src/api/operation.ts";
import type { DecodeProblem } from "../bodies/decode.ts";
import type { HttpResponse } from "../reply.ts";

/** Responses of one service to requests that the HTTP layer rejects. All functions are pure. */
export interface ErrorDialect {
  /**
   * Creates the response to fields that do not match the declaration. `problems` has the order path, query, headers,
   * body.
   */
  toInvalidResponse(problems: readonly ValidationProblem[], operation: Operation): HttpResponse;
  toUnreadableResponse(problem: DecodeProblem): HttpResponse;
  toTooLargeResponse(): HttpResponse;
  /**
   * Creates the response to a request of which nothing was stored. `rejected` names the file if other files can be
   * written.
   */
  storeFailed(rejectedFile?: string): HttpResponse;
  /**
   * Creates the response to a request for an undeclared path. `nearest` is the operation that the client may have
   * meant.
   */
  toNotFoundResponse(nearest: Operation | undefined): HttpResponse;
  toMethodNotAllowedResponse(method: string, allowed: readonly string[]): HttpResponse;
  /** Creates the response if an operation of the emulator has a bug. */
  toBugResponse(operation: string): HttpResponse;
}

export const formatBugMessage = (operation: string): string =>
  `The emulator has a bug in ${operation}. This is not a response of the service. See its stderr.`;

/** Formats `GET /path` for hints. */
export const formatOperation = ({ method, path }: Operation): string => `${[method].flat()[0]} ${path}`;

export type RequestPart = "path" | "query" | "header" | "body";
export type ValidationIssue = z.core.$ZodIssue;

/** One problem of a request, as reported by zod. */
export interface ValidationProblem {
  readonly part: RequestPart;
  readonly issue: ValidationIssue;
  readonly schema: z.ZodType;
  /** The whole part as sent: fields as strings, or the JSON document with its numbers as written. */
  readonly source: unknown;
}

/** Returns the value at a path of the input, or undefined if the path does not exist. */
export function getValueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let at = root;
  for (const key of path) {
    if (at instanceof Map) at = at.get(key);
    else if (typeof at === "object" && at !== null && Object.hasOwn(at, key))
      at = (at as Record<PropertyKey, unknown>)[key];
    else return undefined;
  }
  return at;
}
