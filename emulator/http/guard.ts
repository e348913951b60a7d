import type { IncomingMessage } from "node:http";
import type { Exchange } from "./exchange.ts";
import { forbiddenResponse, type HttpResponse } from "./reply.ts";
import { isProbe } from "./routing/operation-table.ts";
import { authorityOf } from "./routing/path.ts";

/** Rejects requests of which a page of another site may be the sender. */
export function rejectForbidden({
  allowedHosts = [],
  publicUrl,
}: {
  readonly allowedHosts?: readonly string[] | undefined;
  readonly publicUrl?: string | undefined;
}): (exchange: Exchange) => HttpResponse | undefined {
  const isHostAllowed = hostGuard(allowedHosts);
  const publicOrigin = publicUrl && new URL(publicUrl).origin;
  return ({ raw, from: { isForwarded, proxyInfo }, match }) => {
    const bound = match?.bound;
    const isControl = bound?.operation.service.name === "emulator";
    if (!isForwarded && !isHostAllowed(raw, proxyInfo?.host) && !(bound && isProbe(bound) && namesNoHost(raw)))
      return forbiddenResponse(isControl, forbiddenHostMessage(proxyInfo?.host ?? raw.headers.host));
    if (!isControl) return undefined;
    // Next to what the Host header says.
    const origins = [publicOrigin, proxyInfo?.host && `${proxyInfo.protocol ?? "http"}://${proxyInfo.host}`];
    return isCrossSite(raw, bound.operation.auth === "none", origins)
      ? forbiddenResponse(true, "Pages of other sites cannot use the control plane.")
      : undefined;
  };
}

/** Balancers probe so, and browsers, which the Host header is looked at for, always send one (RFC 9112, 3.2). */
const namesNoHost = ({ httpVersion, headers }: IncomingMessage): boolean =>
  httpVersion === "1.0" && headers.host === undefined;

const host = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::(\d{1,5}))?$/i;
const local = /^(?:localhost|.+\.localhost|127\.0\.0\.1|\[::1\])$/;

/** Distinct spellings that are remembered; more only cost a look. */
const maxRemembered = 64;

/**
 * Reports whether the Host header of a request names this machine, or one of `allowed` (names without port). A page of
 * another site cannot get past it by pointing its own name at loopback (DECISIONS.md, P22). `forwardedHost`, the host
 * that a trusted proxy names, must be allowed as well. Never throws.
 */
function hostGuard(
  allowed: readonly string[],
): (request: IncomingMessage, forwardedHost: string | undefined) => boolean {
  const names = new Set(allowed.map((name) => name.toLowerCase()));
  const remembered = new Set<string>();
  const isAllowed = (given: string): boolean => {
    if (remembered.has(given)) return true;
    const [, written, port = "0"] = given.length > 300 ? [] : (host.exec(given) ?? []);
    const name = written?.toLowerCase();
    if (name === undefined || Number(port) > 65_535 || !(local.test(name) || names.has(name))) return false;
    if (remembered.size < maxRemembered) remembered.add(given);
    return true;
  };
  return ({ headers, rawHeaders }, forwardedHost) =>
    headers.host !== undefined &&
    isAllowed(headers.host) &&
    (forwardedHost === undefined || isAllowed(forwardedHost)) &&
    !isRepeated(rawHeaders);
}

/** Node reports the first of several Host headers; two are never honest. */
function isRepeated(rawHeaders: readonly string[]): boolean {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === "host") count += 1;
  }
  return count > 1;
}

/** An absolute target says which host is meant, whatever the Host header says (RFC 9112, 3.2.2). */
export function useAuthority({ url = "", headers, rawHeaders }: IncomingMessage): void {
  const authority = authorityOf(url);
  if (authority === undefined) return;
  headers.host = authority;
  const at = rawHeaders.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === "host");
  if (at < 0) rawHeaders.push("host", authority);
  else rawHeaders[at + 1] = authority;
}

const forbiddenHostMessage = (given: string | undefined): string =>
  `Host ${JSON.stringify(given ?? "")} is not allowed. If it is a name of this emulator, start it with --allowed-host.`;

/**
 * Whether a browser sent the request from a page of another site. `Origin: null` is one: so do pages that hide where
 * they come from, and ours do not. `publicOrigins` are those of a proxy in front, which may hand on another Host.
 * Following a link is not that: pages of the control plane that anyone may open are reached so, though not within a
 * frame.
 */
export function isCrossSite(
  { headers, method }: GuardedRequest,
  isOpenPage: boolean,
  publicOrigins: readonly (string | undefined)[],
): boolean {
  const { origin, host: own } = headers;
  const site = headers["sec-fetch-site"];
  if (isOpenPage && method === "GET" && origin === undefined && isFollowedLink(headers)) return false;
  if (site !== undefined && site !== "same-origin" && site !== "none") return true;
  if (origin === undefined) return false;
  return origin === "null" || ![`http://${own}`, `https://${own}`, ...publicOrigins].includes(origin);
}

/** The headers of a request that name its origin. */
interface GuardedRequest {
  readonly method?: string | undefined;
  readonly headers: {
    readonly host?: string | undefined;
    readonly origin?: string | undefined;
    readonly "sec-fetch-site"?: string | string[] | undefined;
    readonly "sec-fetch-mode"?: string | string[] | undefined;
    readonly "sec-fetch-dest"?: string | string[] | undefined;
  };
}

const isFollowedLink = ({ "sec-fetch-mode": mode, "sec-fetch-dest": destination }: GuardedRequest["headers"]) =>
  mode === "navigate" && (destination === undefined || destination === "document");

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
 * browsers reject two. Cookies are never allowed.
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

/** Clients read why a token was rejected, and when to try again. */
const exposed = ["access-control-expose-headers", "retry-after, www-authenticate"];
