import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Database } from "../../../../emulator/store/postgres/database.ts";
import { waitForNextTurn } from "../../../../src/base/timing.ts";
import { addCleanup } from "../../../support/cleanup.ts";
import { postgresSkipReason, startPostgresServer } from "../../../support/postgres/server.ts";

describe("database whose connections were all cut", { skip: postgresSkipReason }, () => {
  const server = startPostgresServer();

  it("lets no statement wait on a connection that has failed", async (t) => {
    const database = new Database(server().url(), "svc");
    addCleanup(t, () => database.close());
    const cut = () =>
      server().sql((sql) => sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'svc'`);
    const outcomes: string[] = [];
    for (let time = 0; time < 50; time += 1) {
      await Promise.all([database.session`select 1`, database.pool`select 1`]);
      const isCut = database.session`select pg_sleep(60)`.catch(waitForNextTurn);
      await cut();
      await isCut;
      const next = database.pool`select 1`;
      outcomes.push(
        await next.then(
          () => "done",
          ({ code }) => code,
        ),
      );
    }
    // The client gives up a statement that waits when it ends, seconds later.
    assert.ok(!outcomes.includes("CONNECTION_DESTROYED"), outcomes.join(" "));
  });
});
