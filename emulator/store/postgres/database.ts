import postgres from "postgres";
import { formatPostgresUrl, parsePostgresUrl } from "../../../src/base/postgres-url.ts";

/** Statements of one connection, or of several. */
export type Sql = postgres.Sql;
/** Statements of one transaction. */
export type Tx = postgres.TransactionSql;

/** How long PostgreSQL may take to let us in. */
const connectTimeoutS = 5;

/** How many connections there are next to the one for commits. */
const poolSize = 3;

/** How long statements of a client that is given up may take to end. */
const endingS = 5;

/**
 * Longer than any statement of ours takes: a lock on our tables that is held for longer makes commits fail, and they
 * continue later.
 */
const lockTimeoutMs = 5_000;
const statementTimeoutMs = 120_000;

/**
 * A database, reached by one connection for commits, which holds the leader's lock, and by a few more for all else.
 * Connections are opened when they are needed, and again after they were lost.
 */
export class Database {
  /** For messages: without the password. */
  readonly shown: string;
  readonly schema: string;
  readonly #url: string;
  #session: Sql;
  #pool: Sql;
  #onSessionEnd: () => void = () => {};
  #isClosed = false;

  constructor(url: string, schema: string) {
    this.#url = url;
    this.schema = schema;
    this.shown = `${formatPostgresUrl(parsePostgresUrl(url))} (schema ${schema})`;
    this.#session = this.#connect(1);
    this.#pool = this.#connect(poolSize);
  }

  /** The one connection that commits: statements go there one after the other. */
  get session(): Sql {
    return this.#session;
  }

  /** Any other connection. */
  get pool(): Sql {
    return this.#pool;
  }

  /** Sets the listener for the end of the connection that commits. */
  onSessionEnd(ended: () => void): void {
    this.#onSessionEnd = ended;
  }

  /** Ends all connections at once; pending requests fail. The next request connects again. */
  cut(): void {
    const [session, pool] = [this.#session, this.#pool];
    this.#session = this.#connect(1);
    this.#pool = this.#connect(poolSize);
    void session.end({ timeout: 0 });
    void pool.end({ timeout: 0 });
    this.#onSessionEnd();
  }

  #replace(ended: Sql): void {
    if (this.#isClosed) return;
    if (ended === this.#session) {
      this.#session = this.#connect(1);
      this.#onSessionEnd();
    } else if (ended === this.#pool) {
      this.#pool = this.#connect(poolSize);
    } else return;
    // Others of its statements may still be under way.
    void ended.end({ timeout: endingS });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#session.end({ timeout: 1 }), this.#pool.end({ timeout: 1 })]);
  }

  #connect(max: number): Sql {
    const { host, port, user, password, database, sslMode } = parsePostgresUrl(this.#url);
    const sql: Sql = postgres({
      ...(host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : oneHost(host)),
      port: [port] as unknown as number,
      ...(user !== undefined && { user }),
      ...(password !== undefined && { password }),
      ...(database !== undefined && { database }),
      // The client treats "allow" as "require"; for libpq it includes connections without TLS.
      ssl: ((sslMode === "allow" ? "prefer" : sslMode) as "require" | undefined) ?? false,
      max,
      max_lifetime: null,
      connect_timeout: connectTimeoutS,
      // Nothing here is an array or a user-defined type.
      fetch_types: false,
      onnotice() {},
      // Remains of a statement on a connection that ended would reach the next one: it gets a client of its own.
      onclose: () => this.#replace(sql),
      connection: {
        application_name: "svc",
        search_path: `"${this.schema}"`,
        lock_timeout: lockTimeoutMs,
        statement_timeout: statementTimeoutMs,
        idle_in_transaction_session_timeout: statementTimeoutMs,
      },
    });
    return sql;
  }
}

/** A list of one, which its types do not know: it cuts a string at colons, of which an IPv6 address has some. */
const oneHost = (host: string) => ({ host: [host] as unknown as string });
