/** Headers that are shown; of all others only the name, for they may hold credentials or signatures. */
const shown: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "accept-language",
  "content-length",
  "content-type",
  "content-encoding",
  "host",
  "if-none-match",
  "origin",
  "referer",
  "sec-fetch-mode",
  "sec-fetch-site",
  "transfer-encoding",
  "user-agent",
  "user-email",
  "via",
  "x-cluster-id",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-request-id",
]);

const secret = /token|secret|signature|password|credential|assertion|code|captcha|api[-_]?key|^state$/i;
export const redacted = "[redacted]";

/** Headers by lower-case name, without secrets. */
export function redactHeaders(rawHeaders: readonly string[]): Record<string, string> {
  const out: Record<string, string> = Object.create(null);
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    const value = shown.has(name) ? rawHeaders[i + 1]! : redacted;
    out[name] = out[name] === undefined || value === redacted ? value : `${out[name]}, ${value}`;
  }
  return out;
}

/**
 * A target without the secrets in its query, nor those in the places of its path that the operation's template
 * names like secrets (`{token}`).
 */
export function redactTarget(target: string, template: string | undefined): string {
  const query = target.indexOf("?");
  const path = query < 0 ? target : target.slice(0, query);
  const safe = template === undefined ? path : redactPath(path, template);
  return query < 0 ? safe : `${safe}?${redactQuery(target.slice(query + 1))}`;
}

function redactPath(path: string, template: string): string {
  const names = template.split("/");
  const segments = path.split("/");
  if (names.length !== segments.length) return path;
  return segments
    .map((segment, i) => {
      const name = /^\{(.+)\}$/.exec(names[i]!)?.[1];
      return name !== undefined && secret.test(name) ? redacted : segment;
    })
    .join("/");
}

const redactQuery = (query: string): string =>
  query
    .split("&")
    .map((pair) => {
      const equals = pair.indexOf("=");
      return equals >= 0 && secret.test(pair.slice(0, equals)) ? `${pair.slice(0, equals)}=${redacted}` : pair;
    })
    .join("&");
