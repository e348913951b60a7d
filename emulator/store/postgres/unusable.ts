import { lookupTable } from "../../../src/base/lookup-table.ts";
import { StateRefused, StateUnusable } from "../port.ts";

/** What errors of PostgreSQL, and of the way there, mean for a person at a start, and what to do. */
const meanings = lookupTable<readonly [why: string, next: string, trouble?: StateUnusable["trouble"]]>({
  "28P01": [
    "the password is missing or wrong",
    "Give the right one in PGPASSWORD, in a password file (PGPASSFILE, ~/.pgpass), or in the URL in SVC_STORE.",
    "forbidden",
  ],
  "28000": ["the server does not let this user in", "Name another user, or let it in (pg_hba.conf).", "forbidden"],
  "3D000": ["there is no such database", "Create it (createdb), or name another one."],
  "42501": [
    "rights are missing",
    "Let this user create schemas in the database, or create the schema for it: CREATE SCHEMA … AUTHORIZATION ….",
    "forbidden",
  ],
  "42P01": [
    "what it is kept in is hidden from this user",
    "Give it rights on the schema and its tables (GRANT USAGE ON SCHEMA …), or name another one in SVC_STORE_SCHEMA.",
    "forbidden",
  ],
  "53300": ["the server has no connection left", "Close some, or raise max_connections.", "temporary"],
  "53100": ["the server's disk is full", "Make room there."],
  "25006": ["the server is read-only", "Name the one that is written to."],
  "57P03": ["the server is starting or stopping", "Try again in a moment.", "temporary"],
  ECONNREFUSED: ["nothing listens there", "Start PostgreSQL, or name the right host and port.", "temporary"],
  ENOENT: ["there is no such socket", "Start PostgreSQL, or name the folder of its socket with host=.", "temporary"],
  ENOTFOUND: ["there is no such host", "Name the right one."],
  EACCES: ["this user may not use that socket", "Give it the right to."],
  CONNECT_TIMEOUT: [
    "nothing answers there",
    "Name the right host and port, and look whether a firewall is between.",
    "temporary",
  ],
  NO_TLS: [
    "sslmode asks for TLS, and the server does not offer it",
    "Turn it on there (ssl = on in postgresql.conf), or leave sslmode out where the way there is safe.",
  ],
  CONNECTION_CLOSED: ["the server closed the connection", "Try again in a moment; its log says why.", "temporary"],
});

/** Throws the trouble of a start as StateUnusable, in one sentence and what to do; what is refused, as it is. */
export function explainDatabase(shown: string, cause: unknown): never {
  if (cause instanceof StateRefused || cause instanceof StateUnusable) throw cause;
  const { message, name, code: given = "" } = cause as NodeJS.ErrnoException;
  // Node's own words for it, of a server that answers the wish for TLS with a no and then ends.
  const code = message.includes("before secure TLS connection was established") ? "NO_TLS" : given;
  const [why, next, trouble] = meanings[code] ?? [];
  if (why === undefined && name !== "PostgresError" && !/^[A-Z_]+$/.test(code)) throw cause;
  const told = name === "PostgresError" ? ` (${message})` : "";
  throw new StateUnusable(
    `The store ${shown} cannot be used: ${why === undefined ? message : `${why}${told}`}. Nothing was written. ${next ?? "The server's log says more."}`,
    { cause, ...(trouble !== undefined && { trouble }) },
  );
}
