const escapedOrForeign = /[%\x80-\xff]/;
const authority = /^https?:\/\/[^/?#]*/i;
const percentEscape = /%([0-9a-f]{2})/gi;

/**
 * Path and query of a target (RFC 9112, 3.2): an absolute one loses scheme and authority. Undefined: it names nothing
 * that this server could have, such as `*` or `ftp://host/`.
 */
export function originForm(target: string): string | undefined {
  if (target[0] === "/") return target;
  const whole = authority.exec(target)?.[0];
  if (whole === undefined) return undefined;
  const rest = target.slice(whole.length);
  return rest[0] === "/" ? rest : `/${rest}`;
}

/**
 * The target that routes are matched with. The routing service matches the decoded path, so `%2F` is a slash, an
 * invalid escape stays literal and bad UTF-8 is U+FFFD; each segment is encoded again for the matcher, which decodes
 * it for good (DECISIONS.md, P13, P14).
 */
export function matchTarget(target: string): string {
  const local = originForm(target) ?? target;
  const query = local.indexOf("?");
  const path = query < 0 ? local : local.slice(0, query);
  if (!escapedOrForeign.test(path)) return local;
  const encoded = unescapeBytes(path).split("/").map(encodeURIComponent).join("/");
  return query < 0 ? encoded : encoded + local.slice(query);
}

/** Node hands targets over as Latin-1, one character for each byte. */
const unescapeBytes = (path: string): string =>
  Buffer.from(
    path.replace(percentEscape, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  ).toString("utf8");

/** The path of a target as matchTarget gives it, decoded. */
export function decodedPath(matched: string): string {
  const query = matched.indexOf("?");
  const path = query < 0 ? matched : matched.slice(0, query);
  return path.includes("%") ? path.split("/").map(decodeURIComponent).join("/") : path;
}
