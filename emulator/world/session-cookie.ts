/** The cookie of a person who signed in at a cluster. All clusters share the router's name, and so the cookie. */
const name = "svc_session";
const pattern = /(?:^|;\s*)svc_session=([^;]+)/;

/** `{cluster_id}_{id}` of the session that a browser has; undefined: none. */
export function sessionIn(headers: { readonly cookie?: string | undefined }): string | undefined {
  const [, value] = pattern.exec(headers.cookie ?? "") ?? [];
  try {
    return value === undefined ? undefined : decodeURIComponent(value);
  } catch {
    return undefined;
  }
}

/** The value of a set-cookie header. */
export const sessionCookie = (session: string, attributes: string): string =>
  `${name}=${encodeURIComponent(session)}; ${attributes}`;
