import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type EmulatorOptions, startEmulator } from "../../../../emulator/index.ts";
import { createSender, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { postgresSkipReason, startPostgresServer } from "../../../support/postgres/server.ts";
import { bulkOperations, createBulkBody } from "../../../support/routed-emulator.ts";
import { getState } from "../../travel/travel.ts";

const map = ({ router }: Pick<TestEmulator, "router">, id: string) =>
  router("POST", bulkOperations.emails.path, { body: createBulkBody("emails", "eu-1", [id]) });

/** The mapped e-mails of the test. */
async function listMappedEmails(emulator: Pick<TestEmulator, "control">): Promise<string[]> {
  const { mappings } = (await getState(emulator)) as { mappings: { cluster_emails: object } };
  return Object.keys(mappings.cluster_emails)
    .filter((id) => /^e\d$/.test(id))
    .sort();
}

/** A process that is started on a copy, and the leaders that it reported before it led. */
async function startOnDatabase(t: TestContext, options: EmulatorOptions) {
  const leaders: string[] = [];
  const emulator = await startEmulator({
    ...{ port: 0, leaseMs: 600, ...options },
    onLeaderChange: ({ leader }) => leaders.push(leader),
  });
  t.after(() => emulator.close());
  const { routerUrl, token } = emulator;
  const control = createSender(`${routerUrl}/_emulator`, { authorization: `Bearer ${token}` });
  return { router: createSender(routerUrl), control, leaders };
}

describe("copy of a database whose leader continues", { skip: postgresSkipReason }, () => {
  const server = startPostgresServer();

  for (const label of ["a dump in another database", "all data on another server"]) {
    it(`gives ${label} a separate leader`, async (t) => {
      const schema = server().freshSchema();
      const original = await startTestEmulator(t, { store: server().url(), schema, ephemeral: false, leaseMs: 600 });
      await map(original, "e1");
      let store = server().url({ database: "copied" });
      if (label.startsWith("a dump")) {
        const dump = server().dump(schema);
        await server().sql((sql) => sql`create database copied`);
        server().restore(dump, "copied");
      } else {
        const copied = await server().copy();
        t.after(() => copied.remove());
        store = copied.url();
      }
      const copy = await startOnDatabase(t, { store, schema });
      assert.deepEqual([(await map(copy, "e2")).status, (await map(original, "e3")).status], [200, 200]);
      assert.deepEqual(
        [copy.leaders, await listMappedEmails(copy), await listMappedEmails(original)],
        [[], ["e1", "e2"], ["e1", "e3"]],
      );
    });
  }
});

describe("database that lost acknowledged data under a running leader", { skip: postgresSkipReason }, () => {
  const server = startPostgresServer();

  const losses: readonly [label: string, lose: (schema: string, dump: string) => Promise<unknown>][] = [
    [
      "is restored from an older dump",
      async (schema, dump) => {
        await server().sql((sql) => sql.unsafe(`drop schema ${schema} cascade`));
        server().restore(dump);
      },
    ],
    [
      "loses its newest lines",
      (schema) =>
        server().sql((sql) =>
          sql.unsafe(`delete from ${schema}.journal where last = (select max(last) from ${schema}.journal)`),
        ),
    ],
    [
      "is restored while unreachable",
      async (schema, dump) => {
        await server().stop("SIGQUIT");
        await server().start();
        await server().sql((sql) => sql.unsafe(`drop schema ${schema} cascade`));
        server().restore(dump);
      },
    ],
  ];
  for (const [label, lose] of losses) {
    it(`rejects writes after it ${label}, and serves the remaining data after a restart`, async (t) => {
      const options = { store: server().url(), schema: server().freshSchema(), leaseMs: 600 };
      const log: string[] = [];
      const leader = await startTestEmulator(t, { ...options, ephemeral: false, log: (line) => log.push(line) });
      await map(leader, "e1");
      const dump = server().dump(options.schema);
      await map(leader, "e2");
      await lose(options.schema, dump);
      let response = await map(leader, "e3");
      const isReported = () => log.some((line) => line.includes("has lost acknowledged lines"));
      while (!isReported()) response = await map(leader, "e3");
      assert.deepEqual(
        [response.status, response.body, await listMappedEmails(leader)],
        [503, { detail: "The service cannot write its state" }, ["e1", "e2"]],
      );
      const rejection = await leader.control("POST", "workspaces", { body: { name: "Acme" } });
      const { error } = rejection.body as { error: { message: string } };
      assert.deepEqual(
        [rejection.status, error.message],
        [
          503,
          `The store ${server().url()} (schema ${options.schema}) has lost acknowledged lines, or was restored from an older dump. Nothing is written to it. Restart every process to continue with its contents. Before that, save the state in this process's memory: svc emulator state export.`,
        ],
      );
      await leader.close();
      const next = await startTestEmulator(t, { ...options, ephemeral: false });
      assert.deepEqual([(await map(next, "e4")).status, await listMappedEmails(next)], [200, ["e1", "e4"]]);
    });
  }
});
