import postgres from "postgres";
import { parsePostgresUrl, shownPostgresUrl } from "../../../src/base/postgres-url.ts";

/** Statements of one connection, or of several. */
export type Sql = postgres.Sql;
/** Statements of one transaction. */
export type Tx = postgres.TransactionSql;

/** How long PostgreSQL may take to let us in. */
const connectTimeoutS = 5;

/** What no statement of ours takes: whoever locks a table of ours for longer makes commits fail, and they go on later. */
const lockTimeoutMs = 5_000;
const statementTimeoutMs = 120_000;

/**
 * A database, reached by one connection for commits, which holds the lock of whoever leads, and by a few more for all
 * else. Connections are made when they are needed, and again after they were lost.
 */
export class Database {
  /** For messages: without the password. */
  readonly shown: string;
  readonly schema: string;
  readonly #url: string;
  #session: Sql;
  #pool: Sql;
  #onSessionEnd: () => void = () => {};

  constructor(url: string, schema: string) {
    this.#url = url;
    this.schema = schema;
    this.shown = `${shownPostgresUrl(parsePostgresUrl(url))} (schema ${schema})`;
    this.#session = this.#connect(1);
    this.#pool = this.#connect(3);
  }

  /** The one connection that commits: statements go there one after the other. */
  get session(): Sql {
    return this.#session;
  }

  /** Any other connection. */
  get pool(): Sql {
    return this.#pool;
  }

  /** Names who is told when the connection that commits has ended. */
  onSessionEnd(ended: () => void): void {
    this.#onSessionEnd = ended;
  }

  /** Ends all connections at once; what waits for an answer fails. What is asked next connects anew. */
  cut(): void {
    const [session, pool] = [this.#session, this.#pool];
    this.#session = this.#connect(1);
    this.#pool = this.#connect(3);
    void session.end({ timeout: 0 });
    void pool.end({ timeout: 0 });
    this.#onSessionEnd();
  }

  async close(): Promise<void> {
    await Promise.all([this.#session.end({ timeout: 1 }), this.#pool.end({ timeout: 1 })]);
  }

  #connect(max: number): Sql {
    const { host, port, user, password, database, sslMode } = parsePostgresUrl(this.#url);
    const isSession = max === 1;
    const sql: Sql = postgres({
      ...(host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host }),
      port,
      ...(user !== undefined && { user }),
      ...(password !== undefined && { password }),
      ...(database !== undefined && { database }),
      ssl: (sslMode as "require" | undefined) ?? false,
      max,
      max_lifetime: null,
      connect_timeout: connectTimeoutS,
      // Nothing here is an array or a type of somebody's own.
      fetch_types: false,
      onnotice() {},
      ...(isSession && {
        onclose: () => {
          if (this.#session === sql) this.#onSessionEnd();
        },
      }),
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
