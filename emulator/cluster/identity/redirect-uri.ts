import type { OAuthClient } from "../../world/oauth-clients.ts";

const loopback = /^(?:127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\]|localhost)$/;

/**
 * The redirect URI of an authorization request, if the client may use it: one of those it registered (a loopback one
 * with any port, RFC 8252, 7.3), or any https or loopback one where it registered none (DECISIONS.md, R35).
 */
export function allowedRedirect(client: OAuthClient, given: string | undefined): string | undefined {
  const url = given === undefined || !absoluteUri.test(given) ? undefined : parsed(given);
  if (!url || given === undefined || !isSafe(url) || answered.some((name) => url.searchParams.has(name)))
    return undefined;
  const { redirect_uris } = client;
  const matches =
    redirect_uris.length === 0 || redirect_uris.some((known) => known === given || sameButPort(known, url));
  return matches ? given : undefined;
}

/** What is appended to a redirect URI, and must not be there twice (RFC 6749, 3.1). */
const answered = ["code", "state", "iss", "error", "error_description"];

/** The characters of a URI without a fragment (RFC 3986, 2 and 4.3). A backslash would be a slash to browsers alone. */
const absoluteUri = /^[\w\-.~:/?[\]@!$&'()*+,;=%]+$/;

const isLoopback = ({ hostname }: URL): boolean => loopback.test(hostname);

const isSafe = (url: URL): boolean =>
  (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url))) && url.username === "";

function sameButPort(known: string, url: URL): boolean {
  const other = parsed(known);
  if (!other || !isLoopback(other) || !isLoopback(url)) return false;
  other.port = url.port;
  return other.href === url.href;
}

function parsed(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}
