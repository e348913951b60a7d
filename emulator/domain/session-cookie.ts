import { tryDecodeUrlPart } from "../../src/base/urls.ts";

/**
 * Cookie of a user who signed in at a cluster. All clusters share the router's host name and therefore the cookie. The
 * name contains the port, because browsers send a cookie to every port of a host (RFC 6265, 8.5).
 */
const getSessionCookieName = (publicUrl: string): string => `svc_session${new URL(publicUrl).port}`;

/** Returns the value of a cookie in a `cookie` header (RFC 6265, 4.2), or undefined if the header lacks the cookie. */
export function findCookie(name: string, cookies = ""): string | undefined {
  const cookie = cookies.split(/;\s*/).find((item) => item.startsWith(`${name}=`));
  return cookie?.slice(name.length + 1) || undefined;
}

/** Returns the `{cluster_id}_{id}` of the browser's session, or undefined if there is no session. */
export function findSession(
  { cookie }: { readonly cookie?: string | undefined },
  publicUrl: string,
): string | undefined {
  const value = cookie && findCookie(getSessionCookieName(publicUrl), cookie);
  return value && tryDecodeUrlPart(value);
}

export const formatSessionCookie = (session: string, publicUrl: string, attributes: string): string =>
  `${getSessionCookieName(publicUrl)}=${encodeURIComponent(session)}; ${attributes}`;
