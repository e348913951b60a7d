import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { startTestEmulator, type TestResponse } from "../../../support/emulator.ts";
import { postgresSkipReason, startPostgresServer } from "../../../support/postgres/server.ts";
import { bulkOperations, createBulkBody } from "../../../support/routed-emulator.ts";

describe("change whose statement was ended", { skip: postgresSkipReason }, () => {
  const server = startPostgresServer();

  /** Returns the response to a change after `end` has ended its statement, which waits for a lock. */
  async function changeAndEnd(t: TestContext, end: "pg_terminate_backend" | "pg_cancel_backend") {
    const options = { store: server().url(), schema: server().freshSchema(), ephemeral: false };
    const { router } = await startTestEmulator(t, options);
    const body = createBulkBody("emails", "eu-1", ["e1"]);
    let request: Promise<TestResponse> | undefined;
    await server().sql((sql) =>
      sql.begin(async (tx) => {
        await tx.unsafe(`lock table ${options.schema}.journal`);
        request = router("POST", bulkOperations.emails.path, { body });
        const endWaiting = () =>
          tx.unsafe(
            `select ${end}(pid) from pg_stat_activity where wait_event_type = 'Lock' and query like '%written%'`,
          );
        while ((await endWaiting()).length === 0);
        await request;
      }),
    );
    const response = await request!;
    return [response.status, response.headers.get("x-svc-unchanged"), response.body];
  }

  it("is reported as uncertain if the connection was ended, because it may have been committed", async (t) => {
    const detail = "The database did not confirm this change. It may be stored. Check before you retry.";
    assert.deepEqual(await changeAndEnd(t, "pg_terminate_backend"), [503, null, { detail }]);
  });

  it("is reported as unchanged if the statement was canceled", async (t) => {
    const detail = "The service cannot write its state";
    assert.deepEqual(await changeAndEnd(t, "pg_cancel_backend"), [503, "true", { detail }]);
  });
});
