import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, it } from "node:test";
import { findServerProblem, migrations } from "../../../../emulator/store/postgres/schema.ts";
import { svcVersion } from "../../../../src/base/version.ts";
import { postgresSkipReason, startPostgresServer } from "../../../support/postgres/server.ts";
import { openStore } from "./opened.ts";

describe("PostgreSQL store at startup", { skip: postgresSkipReason }, () => {
  const server = startPostgresServer();

  /** Returns the message of a failed start after checking that the database is unchanged. */
  async function getRejection(url: string, schema: string): Promise<string> {
    const before = await tables();
    const outcome = await openStore({ url, schema }).then(
      async ({ store }) => {
        await store.close();
        return "opened";
      },
      ({ name, message, kind = "" }: Error & { kind?: string }) =>
        `${name}: ${message.replaceAll(server().folder, "FOLDER")}${kind && ` ${kind}`}`,
    );
    assert.deepEqual(await tables(), before);
    return outcome;
  }
  const tables = () =>
    server().sql(
      (sql) => sql`select schemaname, tablename from pg_tables where schemaname not like 'pg_%' order by 1, 2`,
    );

  it("rejects a wrong server, user, password or database in one sentence", async () => {
    const at = server();
    await at.sql(async (sql) => {
      await sql.unsafe("create role careful login password 'right'; create role guest login");
      await sql.unsafe("create database latin encoding 'LATIN1' template template0");
    });
    at.letIn("local all careful scram-sha-256");
    await at.sql((sql) => sql`select pg_reload_conf()`);
    const careful = at.url({ user: "careful" });
    const cases: readonly (readonly [url: string, message: string])[] = [
      [
        careful,
        'The store postgres://careful@/postgres?host=FOLDER (schema svc) cannot be used: the password is missing or wrong (password authentication failed for user "careful"). Nothing was written. Set it in PGPASSWORD, in a password file that only you can read (PGPASSFILE, ~/.pgpass), or in the URL in SVC_STORE. forbidden',
      ],
      [
        careful.replace("careful@", "careful:wr0ng@"),
        'The store postgres://careful@/postgres?host=FOLDER (schema svc) cannot be used: the password is missing or wrong (password authentication failed for user "careful"). Nothing was written. Set it in PGPASSWORD, in a password file that only you can read (PGPASSFILE, ~/.pgpass), or in the URL in SVC_STORE. forbidden',
      ],
      [
        at.url({ user: "nobody9" }),
        'The store postgres://nobody9@/postgres?host=FOLDER (schema svc) cannot be used: the server rejects this user (role "nobody9" does not exist). Nothing was written. Use another user, or allow this one (pg_hba.conf). forbidden',
      ],
      [
        at.url({ database: "missing" }),
        'The store postgres://svc@/missing?host=FOLDER (schema svc) cannot be used: the database does not exist (database "missing" does not exist). Nothing was written. Create it (createdb), or use another database.',
      ],
      [
        at.url({ user: "guest" }),
        "The store postgres://guest@/postgres?host=FOLDER (schema svc) cannot be used: this user has no permission (permission denied for database postgres). Nothing was written. Allow this user to create schemas, or create the schema for it: CREATE SCHEMA … AUTHORIZATION …. forbidden",
      ],
      [
        at.url({ database: "latin" }),
        "The store postgres://svc@/latin?host=FOLDER (schema svc) cannot be used: the database encoding is LATIN1, but UTF8 is required (createdb -E UTF8 -T template0). Nothing was written.",
      ],
      [
        "postgres://svc@/postgres?host=/nowhere",
        "The store postgres://svc@/postgres?host=/nowhere (schema svc) cannot be used: the socket does not exist. Nothing was written. Start PostgreSQL, or set the folder of its socket with host=. temporary",
      ],
      [
        `${server().url()}&sslmode=require`,
        "The store postgres://svc@/postgres?host=FOLDER (schema svc) cannot be used: sslmode requires TLS, but the server does not support it. Nothing was written. Enable it on the server (ssl = on in postgresql.conf), or remove sslmode if the network is trusted.",
      ],
      [
        "postgres://svc@127.0.0.1:9/postgres",
        "The store postgres://svc@127.0.0.1:9/postgres (schema svc) cannot be used: connection refused. Nothing was written. Start PostgreSQL, or correct host and port. temporary",
      ],
      [
        "postgres://svc@224.0.0.1/postgres",
        "The store postgres://svc@224.0.0.1/postgres (schema svc) cannot be used: the host cannot be reached. Nothing was written. Check host and network. temporary",
      ],
    ];
    for (const [url, message] of cases) assert.equal(await getRejection(url, "svc"), `StateAccessError: ${message}`);
    assert.equal(
      await getRejection(careful.replace("careful@", "careful:right@"), "svc"),
      "StateAccessError: The store postgres://careful@/postgres?host=FOLDER (schema svc) cannot be used: this user has no permission (permission denied for database postgres). Nothing was written. Allow this user to create schemas, or create the schema for it: CREATE SCHEMA … AUTHORIZATION …. forbidden",
    );
  });

  it("reports a port that ends connections before a session starts, such as a proxy without a server", async (t) => {
    const authenticationOk = "R\0\0\0\b\0\0\0\0";
    for (const [responseText, parameters] of [
      ["", ""],
      ["", "?sslmode=require"],
      ["HTTP/1.1 400 Bad Request\r\n\r\n", ""],
      [authenticationOk, ""],
    ] as const) {
      const proxy = createServer((socket) => void socket.on("error", () => {}).end(responseText));
      await once(proxy.listen(0, "127.0.0.1"), "listening");
      t.after(() => void proxy.close());
      const address = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
      assert.equal(
        await getRejection(`postgres://svc@${address}/postgres${parameters}`, "svc"),
        `StateAccessError: The store postgres://svc@${address}/postgres (schema svc) cannot be used: the server closed the connection. Nothing was written. Try again in a moment. See the server's log. temporary`,
      );
    }
  });

  it("reports a pooler that rejects or ignores settings of the connection", async (t) => {
    const startPooler = async (onConnection: (socket: Socket) => void) => {
      const pooler = createServer((socket) => onConnection(socket.on("error", () => {})));
      await once(pooler.listen(0, "127.0.0.1"), "listening");
      t.after(() => void pooler.close());
      return `svc@127.0.0.1:${(pooler.address() as AddressInfo).port}/postgres`;
    };
    const fields = "SFATAL\0C08P01\0Munsupported startup parameter: search_path\0\0";
    const rejecting = await startPooler((socket) => {
      socket.once("data", () => socket.end(`E\0\0\0${String.fromCharCode(fields.length + 4)}${fields}`));
    });
    const ignoring = await startPooler((socket) => {
      const upstream = connect(`${server().folder}/.s.PGSQL.5432`);
      socket.once("data", (bytes) => {
        upstream.write(Buffer.from(bytes.toString("latin1").replace("search_path", "pool.ignore"), "latin1"));
        socket.pipe(upstream).pipe(socket);
      });
    });
    for (const [address, problem] of [
      [
        rejecting,
        "a pooler rejects a setting of the connection (unsupported startup parameter: search_path). Nothing was written. Connect to PostgreSQL directly, or let PgBouncer ignore the setting (ignore_startup_parameters).",
      ],
      [ignoring, "a pooler ignores search_path (ALTER ROLE … SET search_path = svc sets it). Nothing was written."],
    ] as const) {
      assert.equal(
        await getRejection(`postgres://${address}`, "svc"),
        `StateAccessError: The store postgres://${address} (schema svc) cannot be used: ${problem}`,
      );
    }
  });

  it("connects without TLS if TLS is optional", async () => {
    for (const mode of ["allow", "prefer"]) {
      const database = { url: `${server().url()}&sslmode=${mode}`, schema: server().freshSchema() };
      await (await openStore(database)).store.close();
    }
  });

  it("rejects a schema with tables of another program", async () => {
    await server().sql((sql) => sql.unsafe("create schema theirs; create table theirs.invoices (id int)"));
    assert.equal(
      await getRejection(server().url(), "theirs"),
      "StateFormatError: The schema of the store postgres://svc@/postgres?host=FOLDER (schema theirs) has tables of another program. Use another schema with the option schema. Nothing was changed.",
    );
  });

  it("rejects a state written by a newer version", async () => {
    const schema = server().freshSchema();
    const { store } = await openStore({ url: server().url(), schema });
    await store.close();
    await server().sql((sql) => sql.unsafe(`update ${schema}.svc_store set version = 99, written_by = '9.9.9'`));
    assert.equal(
      await getRejection(server().url(), schema),
      `StateFormatError: The store postgres://svc@/postgres?host=FOLDER (schema ${schema}) has tables of version 99, written by svc 9.9.9. This version reads up to ${migrations.length}. Use that version. Nothing was changed.`,
    );
    await server().sql((sql) =>
      sql.unsafe(`update ${schema}.svc_store set version = ${migrations.length}, written_by = '${svcVersion}'`),
    );
    assert.equal(await getRejection(server().url(), schema), "opened");
  });

  it("rejects a damaged journal line or checkpoint", async () => {
    for (const [table, column] of [
      ["journal", "lines"],
      ["pieces", "lines"],
    ] as const) {
      const schema = server().freshSchema();
      const { store } = await openStore({ url: server().url(), schema });
      await store.transaction("x", (tx) => tx.next("numbers"));
      await store.close();
      await server().sql((sql) => sql.unsafe(`update ${schema}.${table} set ${column} = replace(${column}, 'e', 'i')`));
      assert.match(await getRejection(server().url(), schema), /^StateFormatError: .*Nothing was changed/);
    }
  });

  it("rejects a schema or tables that the user cannot see", async () => {
    const schema = server().freshSchema();
    await (await openStore({ url: server().url(), schema })).store.close();
    await server().sql((sql) => sql.unsafe("create role visitor login"));
    const at = `The store postgres://visitor@/postgres?host=FOLDER (schema ${schema}) cannot be used`;
    assert.equal(
      await getRejection(server().url({ user: "visitor" }), schema),
      `StateAccessError: ${at}: this user cannot see the tables of the store (relation "svc_store" does not exist). Nothing was written. Grant it access to the schema and its tables (GRANT USAGE ON SCHEMA …), or set another one in SVC_STORE_SCHEMA. forbidden`,
    );
  });

  it("accepts a schema that a user created in advance", async () => {
    await server().sql((sql) => sql.unsafe("create role tenant login; create schema given authorization tenant"));
    const { store } = await openStore({ url: server().url({ user: "tenant" }), schema: "given" });
    assert.equal(await store.transaction("x", (tx) => tx.next("numbers")), 1);
    await store.close();
  });
});

describe("a PostgreSQL server", () => {
  it("requires version 13 or later and UTF8", () =>
    assert.deepEqual(
      [
        findServerProblem({ version: 120_022, versionName: "12.22 (Debian)", encoding: "UTF8" }),
        findServerProblem({ version: 130_000, versionName: "13.0", encoding: "UTF8" }),
      ],
      ["PostgreSQL 13 or later is required, but the server is 12.22 (Debian)", undefined],
    ));
});
