/** The cookie of a person who signed in at a cluster. All clusters share the router's name, and so the cookie. */
const name = "svc_session";

/** The value of a cookie in a `cookie` header (RFC 6265, 4.2); undefined where there is none. */
export function cookieNamed(name: string, cookies = ""): string | undefined {
  const found = cookies.split(/;\s*/).find((one) => one.startsWith(`${name}=`));
  return found?.slice(name.length + 1) || undefined;
}

/** `{cluster_id}_{id}` of the session that a browser has; undefined: none. */
export function sessionIn(headers: { readonly cookie?: string | undefined }): string | undefined {
  const value = cookieNamed(name, headers.cookie);
  try {
    return value === undefined ? undefined : decodeURIComponent(value);
  } catch {
    return undefined;
  }
}

/** The value of a set-cookie header. */
export const sessionCookie = (session: string, attributes: string): string =>
  `${name}=${encodeURIComponent(session)}; ${attributes}`;
