import type { IncomingMessage } from "node:http";
import type { HttpResponse } from "../response.ts";

/** Whether pages of an origin may read the responses of a path; undefined: the path is not for pages of other origins. */
export type IsOriginAllowed = (path: string, origin: string) => Promise<boolean> | undefined;

/** Whether a browser asks if it may send a request (Fetch, CORS-preflight request). */
export const isPreflight = ({ method, headers }: Pick<IncomingMessage, "method" | "headers">): boolean =>
  method === "OPTIONS" && headers["access-control-request-method"] !== undefined;

const preflightHeaders = [
  ...["access-control-allow-methods", "GET, POST"],
  ...["access-control-allow-headers", "authorization, content-type"],
  ...["access-control-max-age", "600"],
];

/** The response to a preflight request of an origin that is allowed. */
export const createPreflightResponse = (origin: string): HttpResponse =>
  withCors({ status: 204, headers: [], body: undefined }, origin, preflightHeaders);

/**
 * A response that pages of this origin may read, undefined: of none. The CORS headers of a cluster are replaced, since
 * browsers refuse two. Cookies are never allowed.
 */
export function withCors(
  answer: HttpResponse,
  origin: string | undefined,
  more: readonly string[] = exposed,
): HttpResponse {
  const headers = answer.headers.filter((_, i, all) => !/^access-control-/i.test(all[i - (i % 2)]!));
  const allowed = origin === undefined ? [] : ["access-control-allow-origin", origin, ...more];
  return { ...answer, headers: [...headers, ...allowed, "vary", "origin"] };
}

/** Clients read why a token was refused, and when to try again. */
const exposed = ["access-control-expose-headers", "retry-after, www-authenticate"];
