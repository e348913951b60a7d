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

/** A target, taken apart. */
export interface Target {
  /** Whether it names a path at all; `*` does not. */
  readonly isPath: boolean;
  /** Decoded, which is what routes are matched with. */
  readonly path: string;
  /** The query as sent, without the question mark. */
  readonly search: string;
}

/**
 * The routing service matches the decoded path, so `%2F` is a slash, an invalid escape stays literal and bad UTF-8 is
 * U+FFFD (DECISIONS.md, P14). This is the one place that decodes it.
 */
export function targetOf(target: string): Target {
  const origin = originForm(target);
  const local = origin ?? target;
  const query = local.indexOf("?");
  const path = query < 0 ? local : local.slice(0, query);
  return {
    isPath: origin !== undefined,
    path: escapedOrForeign.test(path) ? unescapeBytes(path) : path,
    search: query < 0 ? "" : local.slice(query + 1),
  };
}

/** Node hands targets over as Latin-1, one character for each byte. */
const unescapeBytes = (path: string): string =>
  Buffer.from(
    path.replace(percentEscape, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  ).toString("utf8");
