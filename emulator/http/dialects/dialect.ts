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
   * Creates the response to a request of which nothing was stored. `rejectedFile` names the file if other files can be
   * written.
   */
  toStoreFailedResponse(rejectedFile?: string): HttpResponse;
  /**
   * Creates the response to a request for an undeclared path. `nearest` is the operation that the client may have
   * meant.
   */
  toNotFoundResponse(nearest: Operation | undefined): HttpResponse;
  toMethodNotAllowedResponse(method: string, allowedMethods: readonly string[]): HttpResponse;
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
  /**
   * The complete part of the request: fields as strings, or the JSON document with the original text of its numbers.
   */
  readonly source: unknown;
}

/** Returns the value at a path of the input, or undefined if the path does not exist. */
export function getValueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let value = root;
  for (const key of path) {
    if (value instanceof Map) value = value.get(key);
    else if (typeof value === "object" && value !== null && Object.hasOwn(value, key))
      value = (value as Record<PropertyKey, unknown>)[key];
    else return undefined;
  }
  return value;
}
