import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { HttpExchange } from "./exchange.ts";
import { createForbiddenResponse, type HttpResponse } from "./reply.ts";
import { isProbe } from "./routing/operation-table.ts";
import { splitAbsoluteTarget } from "./routing/path.ts";

/** Rejects requests that a page of another site could have sent. */
export function createForbiddenCheck({
  allowedHosts = [],
  publicUrl,
}: {
  readonly allowedHosts?: readonly string[] | undefined;
  readonly publicUrl?: string | undefined;
}): (exchange: HttpExchange) => HttpResponse | undefined {
  const isHostAllowed = createHostGuard(allowedHosts);
  const publicOrigin = publicUrl && new URL(publicUrl).origin;
  return ({ raw, requestOrigin: { isForwarded, proxyInfo }, match }) => {
    const bound = match?.bound;
    const isControl = bound?.operation.service.name === "emulator";
    if (!isForwarded && !isHostAllowed(raw, proxyInfo?.host) && !(bound && isProbe(bound.operation) && hasNoHost(raw)))
      return createForbiddenResponse(
        isControl,
        formatForbiddenHost(proxyInfo?.host ?? raw.headersDistinct.host?.join(", ")),
      );
    if (!isControl) return undefined;
    // These origins are allowed in addition to the Host header.
    const origins = [publicOrigin, proxyInfo?.host && `${proxyInfo.protocol ?? "http"}://${proxyInfo.host}`];
    return isCrossSite(raw, bound.operation.auth === "none", origins)
      ? createForbiddenResponse(true, "Pages of other sites cannot use the control plane.")
      : undefined;
  };
}

/** Load balancers send probes without Host. Browsers always send it (RFC 9112, 3.2). */
const hasNoHost = ({ httpVersion, headers }: IncomingMessage): boolean =>
  httpVersion === "1.0" && headers.host === undefined;

const hostPattern = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::(\d{1,5}))?$/i;
const localHostPattern = /^(?:localhost|.+\.localhost|127\.0\.0\.1|\[::1\])$/;

/**
 * Creates a check that the Host header of a request names this machine, or one of `allowedNames`, which have no port. A
 * page of another site cannot bypass this check by resolving its own name to loopback (DECISIONS.md, P22).
 * `forwardedHost`, the host that a trusted proxy names, must be allowed too. The check never throws.
 */
function createHostGuard(
  allowedNames: readonly string[],
): (request: IncomingMessage, forwardedHost: string | undefined) => boolean {
  const names = new Set(allowedNames.map((name) => name.toLowerCase()));
  const isAllowed = (hostHeader: string): boolean => {
    const [, rawName, port = "0"] = hostHeader.length > 300 ? [] : (hostPattern.exec(hostHeader) ?? []);
    const name = rawName?.toLowerCase();
    return name !== undefined && Number(port) <= 65_535 && (localHostPattern.test(name) || names.has(name));
  };
  return ({ headers, rawHeaders }, forwardedHost) =>
    headers.host !== undefined &&
    isAllowed(headers.host) &&
    (forwardedHost === undefined || isAllowed(forwardedHost)) &&
    rawHeaders.filter((name, i) => i % 2 === 0 && isHostHeader(name)).length < 2;
}

/** Node returns the first of several Host headers. A repeated header is never legitimate. */
const isHostHeader = (name: string): boolean => name.length === 4 && name.toLowerCase() === "host";

/** Moves the host of an absolute target to the Host header (RFC 9112, 3.2.2). */
export function applyTargetAuthority(request: IncomingMessage): void {
  const absolute = splitAbsoluteTarget(request.url!);
  if (!absolute) return;
  const { authority, path } = absolute;
  const { headers, rawHeaders } = request;
  request.url = path;
  headers.host = authority;
  const index = rawHeaders.findIndex((name, i) => i % 2 === 0 && isHostHeader(name));
  if (index < 0) rawHeaders.push("host", authority);
  else rawHeaders[index + 1] = authority;
}

const formatForbiddenHost = (hostHeader: string | undefined): string =>
  `Host ${JSON.stringify(hostHeader ?? "")} is not allowed. If it is a name of this emulator, start it with --allowed-host.`;

/**
 * Returns whether a browser sent the request from a page of another site. `Origin: null` is another site, because pages
 * that hide their origin send it and the emulator's pages do not. `publicOrigins` are the origins of a proxy, which can
 * send another Host. A link to an open page of the control plane is allowed, except within a frame.
 */
export function isCrossSite(
  { headers, method }: Pick<IncomingMessage, "headers" | "method">,
  isOpenPage: boolean,
  publicOrigins: readonly (string | undefined)[],
): boolean {
  const { origin, host } = headers;
  const site = headers["sec-fetch-site"];
  if (isOpenPage && method === "GET" && origin === undefined && isFollowedLink(headers)) return false;
  if (site !== undefined && site !== "same-origin" && site !== "none") return true;
  if (origin === undefined) return false;
  return origin === "null" || ![`http://${host}`, `https://${host}`, ...publicOrigins].includes(origin);
}

const isFollowedLink = ({ "sec-fetch-mode": mode, "sec-fetch-dest": destination }: IncomingHttpHeaders) =>
  mode === "navigate" && (destination === undefined || destination === "document");

/** Returns whether a request is a CORS preflight (Fetch, CORS-preflight request). */
export const isPreflight = ({ method, headers }: Pick<IncomingMessage, "method" | "headers">): boolean =>
  method === "OPTIONS" && headers["access-control-request-method"] !== undefined;

/** Tracing libraries add headers of their own to requests to localhost. `*` does not include `authorization`. */
const preflightHeaders = [
  ...["access-control-allow-methods", "GET, POST"],
  ...["access-control-allow-headers", "authorization, *"],
  ...["access-control-max-age", "600"],
];

export const createPreflightResponse = (origin: string): HttpResponse =>
  applyCorsHeaders({ status: 204, headers: [], body: undefined }, origin, preflightHeaders);

/**
 * Sets the CORS headers so that pages of this origin can read the response. If the origin is undefined, no page can
 * read it. The CORS headers of a cluster are replaced, because browsers reject duplicates. Cookies are never allowed.
 */
export function applyCorsHeaders(
  response: HttpResponse,
  origin: string | undefined,
  extraHeaders: readonly string[] = exposedHeaders,
): HttpResponse {
  const headers = response.headers.filter((_, i, all) => !/^access-control-/i.test(all[i - (i % 2)]!));
  const corsHeaders = origin === undefined ? [] : ["access-control-allow-origin", origin, ...extraHeaders];
  return { ...response, headers: [...headers, ...corsHeaders, "vary", "origin"] };
}

/** Clients need these headers to learn why a token was rejected and when they can retry. */
const exposedHeaders = ["access-control-expose-headers", "retry-after, www-authenticate"];
