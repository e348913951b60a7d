import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startEmulator } from "../../../../emulator/index.ts";
import { createUploadRequest, requireContract } from "../../../support/contracts.ts";
import { pickStatusAndBody, startTestEmulator, type TestResponse } from "../../../support/emulator.ts";
import { postgresSkipReason, startPostgresServer } from "../../../support/postgres/server.ts";
import { bulkOperations, createBulkBody } from "../../../support/routed-emulator.ts";

describe("PostgreSQL role with settings of an administrator", { skip: postgresSkipReason }, () => {
  const server = startPostgresServer();

  /** Returns the options of an emulator whose role has these settings. */
  async function createOptions(role: string, ...settings: readonly string[]) {
    await server().sql(async (sql) => {
      await sql.unsafe(`create role ${role} login; grant create on database postgres to ${role}`);
      for (const setting of settings) await sql.unsafe(`alter role ${role} set ${setting}`);
    });
    return { store: server().url({ user: role }), schema: server().freshSchema(), ephemeral: false };
  }

  it("stores a change that waited for another statement, under a stricter isolation level", async (t) => {
    const options = await createOptions("strict", "default_transaction_isolation = serializable");
    const { router } = await startTestEmulator(t, options);
    const body = createBulkBody("emails", "eu-1", ["e1"]);
    let request: Promise<TestResponse> | undefined;
    await server().sql((sql) =>
      sql.begin(async (tx) => {
        await tx.unsafe(`update ${options.schema}.leadership set beat = beat + 1`);
        request = router("POST", bulkOperations.emails.path, { body });
        const listWaiting = () =>
          server().sql(
            (other) => other`select from pg_stat_activity
          where usename = 'strict' and query like '%journal%' and wait_event_type = 'Lock'`,
          );
        // Within a transaction, the server would return the activity of its first query again.
        while ((await listWaiting()).length === 0);
      }),
    );
    assert.deepEqual(pickStatusAndBody(await request!), { status: 200, body: true });
  });

  it("returns uploaded bytes under another text format of binary data", async (t) => {
    const emulator = await startTestEmulator(t, await createOptions("escaping", "bytea_output = escape"));
    const request = await createUploadRequest();
    const { id } = await requireContract(
      emulator.api("POST", "/api/v2.1/public/contracts/upload_review_contracts/", { body: request }),
    );
    const { clientId, clientSecret, url } = emulator.clusters[0]!;
    const headers = { "client-id": clientId!, "client-secret": clientSecret! };
    const response = await fetch(`${url}/api/v2.1/public/contracts/${id}/download`, { method: "POST", headers });
    const bytes = Buffer.from(await response.arrayBuffer());
    assert.deepEqual([response.status, bytes.subarray(0, 4).toString()], [200, "%PDF"]);
  });

  for (const [role, change, reason, remedy] of [
    [
      "reader",
      "alter role reader set default_transaction_read_only = on",
      "the server is read-only (cannot execute UPDATE in a read-only transaction)",
      "Use the primary server.",
    ],
    [
      "guest",
      "reassign owned by guest to svc; grant usage on schema SCHEMA to guest; grant select on all tables in schema SCHEMA to guest",
      "this user has no permission (permission denied for table leadership)",
      "Allow this user to create schemas, or create the schema for it: CREATE SCHEMA … AUTHORIZATION ….",
    ],
  ] as const) {
    it(`rejects a start if ${reason}`, async (t) => {
      const options = await createOptions(role);
      await (await startTestEmulator(t, options)).close();
      await server().sql((sql) => sql.unsafe(change.replaceAll("SCHEMA", options.schema)));
      const store = `postgres://${role}@/postgres?host=${server().folder}`;
      await assert.rejects(startEmulator(options), {
        message: `The store ${store} (schema ${options.schema}) cannot be used: ${reason}. Nothing was written. ${remedy}`,
      });
    });
  }

  it("explains why a leader fails requests while the database is read-only", async (t) => {
    const options = await createOptions("demoted");
    const log: string[] = [];
    const { router } = await startTestEmulator(t, { ...options, leaseMs: 600, log: (line) => log.push(line) });
    const setReadOnly = (value: string) =>
      server().sql(async (sql) => {
        await sql.unsafe(`alter role demoted set default_transaction_read_only = ${value}`);
        await sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'demoted'`;
      });
    const waitForStatus = async (expected: number) => {
      for (;;) {
        const { status, body } = await router("GET", "/_emulator/ready");
        if (status === expected && log.length > (status === 503 ? 0 : 1)) return (body as { why?: string }).why;
      }
    };
    await setReadOnly("on");
    const why = await waitForStatus(503);
    await setReadOnly("off");
    assert.deepEqual(
      [why, await waitForStatus(200), log],
      [
        "The database does not confirm that this process leads; another process may lead",
        undefined,
        [
          `The store STORE does not confirm that this process leads: cannot execute UPDATE in a read-only transaction. Requests fail until it does`,
          "The store STORE confirms again that this process leads",
        ].map((line) =>
          line.replace("STORE", `postgres://demoted@/postgres?host=${server().folder} (schema ${options.schema})`),
        ),
      ],
    );
  });
});
