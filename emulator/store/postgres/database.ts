import { connect, type Socket } from "node:net";
import postgres from "postgres";
import { formatPostgresUrl, parsePostgresUrl } from "../../../src/base/urls.ts";
import { StoreFailedError, UnconfirmedWriteError } from "../port.ts";

/** Runs statements on one connection or several. */
export type Sql = postgres.Sql;
export type Tx = postgres.TransactionSql;

const connectTimeoutS = 5;

/** The number of connections in addition to the one for commits. */
const poolSize = 3;

/** The maximum time for the statements of an abandoned client to end. */
const endTimeoutS = 5;

/** Longer than any statement of the emulator. Commits that wait longer for a lock fail and are retried later. */
const lockTimeoutMs = 5_000;
const statementTimeoutMs = 120_000;

/** Errors before a statement was sent. */
const connectErrors: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ENOENT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "CONNECT_TIMEOUT",
]);

/**
 * Reports whether the server may have committed a statement that failed here, because its response was lost. Errors of
 * the server are responses: the client reports the loss of the connection if the server ends it.
 */
export function isResponseLost(error: unknown): boolean {
  const { name, code } = error as NodeJS.ErrnoException;
  return name !== "PostgresError" && !(error instanceof StoreFailedError) && !connectErrors.has(code);
}

/** Creates the error of a failed statement, which the server may have committed if its response was lost. */
export const createWriteError = (message: string, cause: unknown): StoreFailedError =>
  new (isResponseLost(cause) ? UnconfirmedWriteError : StoreFailedError)(message, { cause });

/**
 * A database with one connection for commits, which holds the leader's lock, and a few connections for all other
 * statements. Connections are opened on demand and reopened after they are lost.
 */
export class Database {
  /** The URL without the password, for messages. */
  readonly displayUrl: string;
  readonly schema: string;
  readonly #url: string;
  #session: Sql;
  #pool: Sql;
  #onSessionEnd: () => void = () => {};
  #isClosed = false;

  constructor(url: string, schema: string) {
    this.#url = url;
    this.schema = schema;
    this.displayUrl = `${formatPostgresUrl(parsePostgresUrl(url))} (schema ${schema})`;
    this.#session = this.#connect(1);
    this.#pool = this.#connect(poolSize);
  }

  get session(): Sql {
    return this.#session;
  }

  get pool(): Sql {
    return this.#pool;
  }

  onSessionEnd(listener: () => void): void {
    this.#onSessionEnd = listener;
  }

  /** Ends all connections immediately. Pending requests fail, and the next request connects again. */
  disconnect(): void {
    const [session, pool] = [this.#session, this.#pool];
    this.#session = this.#connect(1);
    this.#pool = this.#connect(poolSize);
    void session.end({ timeout: 0 });
    void pool.end({ timeout: 0 });
    this.#onSessionEnd();
  }

  #replace(connection: Sql): void {
    if (this.#isClosed) return;
    if (connection === this.#session) {
      this.#session = this.#connect(1);
      this.#onSessionEnd();
    } else if (connection === this.#pool) {
      this.#pool = this.#connect(poolSize);
    } else return;
    // Other statements of the transaction may still be running.
    void connection.end({ timeout: endTimeoutS });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#session.end({ timeout: 1 }), this.#pool.end({ timeout: 1 })]);
  }

  #connect(max: number): Sql {
    const { host, port, user, password, database, sslMode } = parsePostgresUrl(this.#url);
    const sql: Sql = postgres({
      // The client splits a string at colons, which an IPv6 address contains.
      host: [host] as unknown as string,
      port: [port] as unknown as number,
      ...(user !== undefined && { user }),
      ...(password !== undefined && { password }),
      ...(database !== undefined && { database }),
      ssl: toTlsOption(sslMode, host),
      // The types of the client lack this documented option.
      ...({ socket: () => openSocket(host, port, () => this.#replace(sql)) } as object),
      max,
      max_lifetime: null,
      connect_timeout: connectTimeoutS,
      // No column has an array type or a user-defined type.
      fetch_types: false,
      onnotice() {},
      // A new client is created, because the remains of a statement on an ended connection would reach the next
      // connection.
      onclose: () => this.#replace(sql),
      connection: {
        application_name: "svc",
        search_path: `"${this.schema}"`,
        // A database or role may have other defaults, with which waiting writes fail and bytes are misread.
        default_transaction_isolation: "read committed",
        bytea_output: "hex",
        lock_timeout: lockTimeoutMs,
        statement_timeout: statementTimeoutMs,
        idle_in_transaction_session_timeout: statementTimeoutMs,
      },
    });
    return sql;
  }
}

/**
 * Opens a socket that fails if the server ends the connection. If this happens before the session starts, as with a
 * proxy without a server, the client would otherwise connect again and again without a pause or an error.
 */
async function openSocket(host: string, port: number, onFailure: () => void): Promise<Socket> {
  // From here on, the client listens for errors before a connection without a route fails, in the next tick.
  await undefined;
  const socket = connect(host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port });
  const error = Object.assign(new Error("The server closed the connection"), { code: "CONNECTION_CLOSED" });
  socket.once("end", () => socket.destroy(error));
  // Until the socket is closed, the client would send statements on it, and never reject them.
  socket.once("connect", () => socket.once("error", onFailure));
  // The client checks the host of the certificate with this property.
  return Object.assign(socket, { host });
}

function toTlsOption(sslMode: string | undefined, host: string): object | "require" | "prefer" | false {
  // Without this, the client compares a certificate with `localhost` if the host is an IP address.
  if (sslMode === "verify-full") return { host };
  // The client treats "allow" as "require", but for libpq it includes connections without TLS.
  return sslMode === "allow" ? "prefer" : ((sslMode as "require" | "prefer" | undefined) ?? false);
}
