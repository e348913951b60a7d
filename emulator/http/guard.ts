import type { IncomingMessage } from "node:http";
import { authorityOf } from "./routing/path.ts";

const host = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::(\d{1,5}))?$/i;
const local = /^(?:localhost|.+\.localhost|127\.0\.0\.1|\[::1\])$/;

/** Distinct spellings that are remembered; more only cost a look. */
const maxRemembered = 64;

/**
 * Reports whether the Host header of a request names this machine, or one of `allowed` (names without port). A page of
 * another site cannot get past it by pointing its own name at loopback (DECISIONS.md, P22). `forwardedHost`, the host
 * that a trusted proxy names, must be allowed as well. Never throws.
 */
export function hostGuard(
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

export const forbiddenHostMessage = (given: string | undefined): string =>
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
