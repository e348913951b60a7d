import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createSender, startTestEmulator, type TestEmulator, type TestResponse } from "../../../support/emulator.ts";
import { postgresSkipReason, startPostgresServer } from "../../../support/postgres/server.ts";
import { bulkOperations, createBulkBody } from "../../../support/routed-emulator.ts";

/** Prepares a change, and returns a function that sends it. */
type PrepareChange = (emulator: TestEmulator) => Promise<() => Promise<TestResponse>>;

const prepareMapping: PrepareChange = async ({ router }) => {
  const body = createBulkBody("emails", "eu-1", ["e1"]);
  return () => router("POST", bulkOperations.emails.path, { body });
};

const prepareUpload: PrepareChange = async ({ api }) => {
  const files = [{ filename: "msa.pdf", content_type: "application/pdf" }];
  const { body } = await api("POST", "/api/v2.1/public/workspace/files/uploads/", { body: { files } });
  const { origin, pathname, search } = new URL((body as { files: [{ upload_url: string }] }).files[0].upload_url);
  const headers = { "content-type": "application/pdf" };
  return () => createSender(origin)("PUT", `${pathname}${search}`, { body: "%PDF", headers });
};

const prepareSnapshot: PrepareChange =
  async ({ control }) =>
  () =>
    control("PUT", "snapshots/before");

describe("change whose statement was ended", { skip: postgresSkipReason }, () => {
  const server = startPostgresServer();

  /** Returns the response to a change after `end` has ended its statement, which has a word and waits for a table. */
  async function changeAndEnd(
    t: TestContext,
    end: "pg_terminate_backend" | "pg_cancel_backend",
    prepare = prepareMapping,
    [table, word] = ["journal", "written"],
  ) {
    const options = { store: server().url(), schema: server().freshSchema(), ephemeral: false };
    const change = await prepare(await startTestEmulator(t, options));
    let request: Promise<TestResponse> | undefined;
    await server().sql((sql) =>
      sql.begin(async (tx) => {
        await tx.unsafe(`lock table ${options.schema}.${table} in exclusive mode`);
        request = change();
        const query = `select ${end}(pid) from pg_stat_activity where wait_event_type = 'Lock' and query like '%${word}%'`;
        // Within a transaction, the server would return the activity of its first query again.
        while ((await server().sql((other) => other.unsafe(query))).length === 0);
        await request;
      }),
    );
    const response = await request!;
    return [response.status, response.headers.get("x-svc-unchanged"), response.body];
  }

  const detail = "The database did not confirm this change. It may be stored. Check before you retry.";

  for (const [name, prepare, lock, body] of [
    ["mapping", prepareMapping, ["journal", "written"], { detail }],
    ["upload", prepareUpload, ["journal", "written"], { detail }],
    [
      "snapshot",
      prepareSnapshot,
      ["documents", "insert into documents"],
      { error: { code: "uncertain", message: detail } },
    ],
  ] satisfies [string, PrepareChange, [string, string], object][]) {
    it(`is reported as uncertain if its connection was ended, because it may be committed: ${name}`, async (t) => {
      assert.deepEqual(await changeAndEnd(t, "pg_terminate_backend", prepare, lock), [503, null, body]);
    });
  }

  it("is reported as unchanged if the statement was canceled", async (t) => {
    const unchanged = "The service cannot write its state";
    assert.deepEqual(await changeAndEnd(t, "pg_cancel_backend"), [503, "true", { detail: unchanged }]);
  });
});
