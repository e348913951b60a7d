/** Returns the parameters of a path such as `/contracts/{contract_id}/status`, in order. */
export const findPlaceholders = (template: string): string[] =>
  [...template.matchAll(/\{([a-z_]+)\}/g)].map((match) => match[1]!);

/** Replaces parameters with percent-encoded values. Only the value of `full_path` can contain slashes. */
export function fillTemplate(template: string, values: Readonly<Record<string, string | number>>): string {
  return template.replace(/\{([a-z_]+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`No value for {${name}} in ${template}`);
    return name === "full_path"
      ? String(value).split("/").map(encodeURIComponent).join("/")
      : encodeURIComponent(String(value));
  });
}

/** Reports whether a path matches a pattern in which `*` matches any characters. The query is ignored. */
export function matchesPathPattern(target: string, pattern: string): boolean {
  const path = target.split("?", 1)[0]!;
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return path === first;
  if (!path.startsWith(first) || !path.endsWith(last)) return false;
  const end = path.length - last.length;
  let at = first.length;
  for (const piece of rest) {
    const index = path.indexOf(piece, at);
    if (index < 0) return false;
    at = index + piece.length;
  }
  return at <= end;
}

/** Returns the host of a URL in the form of an allowlist entry, or `HOST` if the URL is invalid. */
export const extractHost = (url: string): string => (URL.canParse(url) ? new URL(url).hostname : "HOST");

export const hostForms = "host, host:port or *.domain";

/** Reports whether a string can be the host of a URL in the form of `new URL`: `host`, `host:port` or `*.domain`. */
export function isHostPattern(text: string): boolean {
  const pattern = text.toLowerCase();
  if (pattern.startsWith("*.")) return isHostName(pattern.slice(2));
  if (isCanonical(`[${pattern}]`)) return true;
  const [, host, port] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(pattern) ?? [];
  if (host === undefined || (port !== undefined && !isPort(port))) return false;
  return host.startsWith("[") ? isCanonical(host) : isHostName(host);
}

/** Returns the pattern that was probably meant, or undefined if there is no suggestion. */
export function suggestHostPattern(text: string): string | undefined {
  if (/^[\d.:a-f]+\/\d+$/i.test(text)) return undefined;
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  if (!URL.canParse(url)) return undefined;
  const { host, hostname } = new URL(url);
  return [host, hostname, hostname.replace(/\.$/, ""), `*${hostname}`].find(isHostPattern);
}

/** A URL can contain an empty label, but a host name cannot. */
const isHostName = (host: string): boolean => /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(host) && isCanonical(host);

const isCanonical = (host: string): boolean =>
  URL.canParse(`http://${host}`) && new URL(`http://${host}`).hostname === host;

const isPort = (digits: string): boolean => Number(digits) > 0 && Number(digits) < 65_536 && !digits.startsWith("0");
