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

export const defaultSchema = "svc";

/**
 * Parses a URL in libpq's format. A parameter can replace the host. Throws an Error that describes the problem without
 * the password.
 */
export function parsePostgresUrl(text: string): PostgresUrl {
  if (!/^postgres(ql)?:\/\//.test(text)) throw new Error(`must be a URL (${expectedUrlForm})`);
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
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error("must escape a percent sign as %25");
  }
}
