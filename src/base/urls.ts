/** Returns the names in a path such as `/contracts/{contract_id}/status` or in a rule of fields, in order. */
export const findPlaceholders = (template: string): string[] =>
  [...template.matchAll(/\{([a-z_]+)\}/g)].map((match) => match[1]!);

/** Decodes a part of a URL. Returns undefined if its encoding is invalid. */
export function tryDecodeUrlPart(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Decodes a part of a URL. Returns the part unchanged if its encoding is invalid. */
export const decodeUrlPart = (text: string): string => tryDecodeUrlPart(text) ?? text;

/** Decodes a `Location` header. Servers send UTF-8 in it, although headers are read as Latin-1. */
export const decodeLocation = (header: string): string =>
  new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(header, (char) => char.charCodeAt(0)));

/** Replaces parameters with percent-encoded values. Only the value of `full_path` can contain slashes. */
export function fillTemplate(template: string, values: Readonly<Record<string, string | number>>): string {
  return template.replace(/\{([a-z_]+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`No value for {${name}} in ${template}`);
    // A lone surrogate, for which encodeURIComponent throws, becomes U+FFFD as in a query.
    const text = String(value).replace(/\p{Surrogate}/gu, "\ufffd");
    return name === "full_path" ? text.split("/").map(encodeURIComponent).join("/") : encodeURIComponent(text);
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

/** Returns the origin of a URL (`https://host:port`), or undefined if it is missing or invalid. */
export const getOrigin = (url: string | undefined): string | undefined =>
  url !== undefined && URL.canParse(url) ? new URL(url).origin : undefined;

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

export interface PostgresUrl {
  /** Host name, IP address, or folder of a Unix socket. A folder starts with a slash. */
  readonly host: string;
  readonly port: number;
  /** User name. By default PGUSER, or the user who runs the program. */
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** Database name. By default the name of the user. */
  readonly database: string | undefined;
  /** Encryption of the connection, as in `sslmode`. By default none. */
  readonly sslMode: string | undefined;
}

const sslModes = ["disable", "allow", "prefer", "require", "verify-full"];
const expectedUrlForm =
  "postgres://USER@HOST:PORT/DATABASE, or postgres://USER@/DATABASE?host=/FOLDER for a Unix socket";

/** Reports whether a string is a valid schema name. None of the allowed characters needs quotes. */
export const isSchemaName = (name: string): boolean => /^[a-z_][a-z0-9_]{0,62}$/.test(name) && !name.startsWith("pg_");

export const schemaNameForm =
  "up to 63 lower-case letters, digits and underscores, and begin with neither a digit nor pg_";

export const defaultSchema = "svc";

/**
 * Parses a URL in libpq's format. A parameter can replace the host. Throws an Error that describes the problem without
 * the password.
 */
export function parsePostgresUrl(text: string): PostgresUrl {
  if (!/^postgres(ql)?:\/\//.test(text)) throw new Error(`must be a URL (${expectedUrlForm})`);
  // Otherwise a password with such a character would be read, and printed, as host, port or database.
  const address = text.slice(text.indexOf("//") + 2);
  const pathStart = address.search(/[/?#]/);
  if (pathStart >= 0 && /[@#]/.test(address.slice(pathStart)))
    throw new Error("must escape / ? # and @ in user, password and database as %2F %3F %23 and %40");
  // The client would try the hosts in turn and find a leader on each.
  const several = "must name exactly one host";
  const [, authority = ""] = /^postgres(?:ql)?:\/\/(?:[^/?#]*@)?([^/?#]*)/.exec(text) ?? [];
  if (authority.includes(",")) throw new Error(several);
  let url: URL;
  try {
    // In the URL standard, a URL with a user needs a host. libpq accepts a URL without a host.
    url = new URL(text.replace(/^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)(?=(?::\d*)?(?:[/?]|$))/, "$1localhost"));
  } catch {
    throw new Error(`must be a valid URL (${expectedUrlForm})`);
  }
  const unknownParameters = [...url.searchParams.keys()].filter((name) => !["host", "port", "sslmode"].includes(name));
  if (unknownParameters.length > 0)
    throw new Error(`must have only the parameters host, port and sslmode, got ${unknownParameters[0]}`);
  const hosts = url.searchParams.getAll("host");
  if (hosts.length > 1 || hosts[0]?.includes(",")) throw new Error(several);
  const sslMode = url.searchParams.get("sslmode") ?? undefined;
  if (sslMode !== undefined && !sslModes.includes(sslMode))
    throw new Error(`must have an sslmode of ${sslModes.join(", ")}, got "${sslMode}"`);
  const port = Number(url.searchParams.get("port") || url.port || 5432);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error("must have a port from 1 to 65535");
  const decodePart = (encoded: string) => decodeOrReject(encoded) || undefined;
  return {
    host: url.searchParams.get("host") || decodeOrReject(url.hostname).replace(/^\[(.*)\]$/, "$1"),
    port,
    user: decodePart(url.username),
    password: decodePart(url.password),
    database: decodePart(url.pathname.slice(1)),
    sslMode: sslMode === "disable" ? undefined : sslMode,
  };
}

/** Formats the address without the password, for messages. */
export function formatPostgresUrl({ host, port, user, database }: PostgresUrl): string {
  const as = user === undefined ? "" : `${encodeURIComponent(user)}@`;
  const name = database === undefined ? "" : encodeURIComponent(database);
  if (host.startsWith("/"))
    return `postgres://${as}/${name}?host=${encodeURIComponent(host).replaceAll("%2F", "/")}${port === 5432 ? "" : `&port=${port}`}`;
  return `postgres://${as}${host.includes(":") ? `[${host}]` : host}${port === 5432 ? "" : `:${port}`}/${name}`;
}

function decodeOrReject(text: string): string {
  const decoded = tryDecodeUrlPart(text);
  if (decoded === undefined) throw new Error("must escape a percent sign as %25");
  return decoded;
}
