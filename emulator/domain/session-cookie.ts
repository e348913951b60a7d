import { tryDecodeUrlPart } from "../../src/base/urls.ts";

/** Cookie of a user who signed in at a cluster. All clusters share the router's host name and therefore the cookie. */
const sessionCookieName = "svc_session";

/** Returns the value of a cookie in a `cookie` header (RFC 6265, 4.2), or undefined if the header lacks the cookie. */
export function findCookie(name: string, cookies = ""): string | undefined {
  const cookie = cookies.split(/;\s*/).find((item) => item.startsWith(`${name}=`));
  return cookie?.slice(name.length + 1) || undefined;
}

/** Returns the `{cluster_id}_{id}` of the browser's session, or undefined if there is no session. */
export function findSession(headers: { readonly cookie?: string | undefined }): string | undefined {
  const value = findCookie(sessionCookieName, headers.cookie);
  return value && tryDecodeUrlPart(value);
}

export const formatSessionCookie = (session: string, attributes: string): string =>
  `${sessionCookieName}=${encodeURIComponent(session)}; ${attributes}`;
