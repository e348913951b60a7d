import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type PostgresServer, postgresSkipReason, startPostgresServer } from "../../../../support/postgres/server.ts";
import { startStallingProxy } from "../../../../support/postgres/stalling-proxy.ts";
import { owners, people } from "../../../../support/store.ts";
import { readStoredState } from "../opened.ts";
import { Writers, waitMs } from "./writers.ts";

/** `KILLS=1000 npm run kills` takes long. */
const kills = Number(process.env.KILLS ?? 9);

/** Returns the acknowledged writes that are missing, and whether each transaction is present completely and once. */
async function findLostWrites(database: { url: string; schema: string }, acknowledgedIds: readonly number[]) {
  // The current leader continues writing while the state is read.
  const sortedIds = [...acknowledgedIds];
  const store = await readStoredState(database);
  const numbers = await store.transaction("count", (tx) => tx.next("numbers"));
  const rows = store.list(people);
  const ids = new Set(rows.map(({ id }) => id));
  const storedOwners = rows.flatMap(({ id }) => [`a${id}`, `b${id}`].map((value) => store.lookup(owners, value)));
  return {
    lost: sortedIds.filter((id) => !ids.has(id)),
    halves: storedOwners.filter((owner) => owner !== "eu-1").length,
    counts: [store.size(owners) - 2 * rows.length, numbers - 1 - rows.length],
  };
}

const nothingLost = { lost: [], halves: 0, counts: [0, 0] };

describe("PostgreSQL leader under 16 writers", { skip: postgresSkipReason }, () => {
  const server = startPostgresServer();
  const createDatabase = (server: PostgresServer) => ({ url: server.url(), schema: server.freshSchema() });

  for (const processes of [1, 2, 3]) {
    it(`loses no acknowledged write with ${processes} processes in ${Math.ceil(kills / 3)} kills`, async (t) => {
      const database = createDatabase(server());
      const writers = new Writers(database.url, database.schema);
      t.after(() => writers.killAll());
      for (let i = 0; i < processes; i += 1) writers.start();
      for (let kill = 0; kill < kills / 3; kill += 1) {
        const leader = await writers.leader(1 + Math.floor(Math.random() * 400));
        await writers.kill(leader);
        writers.start();
        if (kill % 10 === 0) assert.deepEqual(await findLostWrites(database, writers.acknowledged), nothingLost);
      }
      await writers.leader(20);
      await writers.killAll();
      assert.deepEqual(await findLostWrites(database, writers.acknowledged), nothingLost);
      assert.equal(new Set(writers.acknowledged).size, writers.acknowledged.length);
      const figures = `${Math.ceil(kills / 3)} kills, ${writers.acknowledged.length} writes acknowledged`;
      t.diagnostic(`${figures}: none lost, none doubled, none half there, counts exact`);
    });
  }

  it("has its next commit rejected after a pause longer than its lease", async (t) => {
    const database = createDatabase(server());
    const writers = new Writers(database.url, database.schema);
    t.after(() => writers.killAll());
    writers.start();
    writers.start();
    const first = await writers.leader(50);
    first.child.kill("SIGSTOP");
    const second = await writers.leader(50);
    assert.notEqual(second, first);
    first.child.kill("SIGCONT");
    await writers.refused(first);
    await writers.leader(50);
    await writers.killAll();
    assert.deepEqual(await findLostWrites(database, writers.acknowledged), nothingLost);
  });

  const troubles: readonly [label: string, trouble: (server: PostgresServer) => Promise<unknown>][] = [
    [
      "its connections are terminated",
      (server) =>
        server.sql(
          (sql) => sql`
      select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'svc'`,
        ),
    ],
    [
      "its server restarts",
      async (server) => {
        await server.stop("SIGINT");
        await waitMs(200);
        await server.start();
      },
    ],
    [
      "its server crashes",
      async (server) => {
        await server.stop("SIGQUIT");
        await server.start();
      },
    ],
    [
      "its database is temporarily read-only",
      async (server) => {
        const setReadOnly = (to: string) =>
          server.sql(async (sql) => {
            await sql.unsafe("set default_transaction_read_only = off");
            await sql.unsafe(`alter database postgres set default_transaction_read_only = ${to}`);
            await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'svc'`;
          });
        await setReadOnly("on");
        await waitMs(300);
        await setReadOnly("off");
      },
    ],
  ];
  for (const [label, disrupt] of troubles) {
    it(`continues without data loss if ${label}`, async (t) => {
      const database = createDatabase(server());
      const writers = new Writers(database.url, database.schema);
      t.after(() => writers.killAll());
      writers.start();
      for (let time = 0; time < 3; time += 1) {
        await writers.leader(50);
        await disrupt(server());
      }
      await writers.leader(50);
      await writers.killAll();
      assert.deepEqual(await findLostWrites(database, writers.acknowledged), nothingLost);
    });
  }

  it("rolls back pending writes on a stalled network, and resumes later", async (t) => {
    const database = createDatabase(server());
    const proxy = await startStallingProxy(t, server());
    const writers = new Writers(database.url.replace(server().folder, proxy.folder), database.schema);
    t.after(() => writers.killAll());
    writers.start();
    for (const ms of [300, 1_500]) {
      await writers.leader(50);
      proxy.stall();
      await waitMs(ms);
      proxy.goOn();
    }
    await writers.leader(50);
    await writers.killAll();
    assert.deepEqual(await findLostWrites(database, writers.acknowledged), nothingLost);
  });

  /**
   * Returns SQL that fails an insert with the error of a full disk. emulator/compose/postgres/database-full uses a real
   * one.
   */
  const fullDisk = (schema: string) => `
    create function ${schema}.full() returns trigger language plpgsql as
    $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$;
    create trigger full_disk before insert on ${schema}.journal execute function ${schema}.full()`;
  /** Returns SQL that delays the commit of a new epoch, so heartbeats of the previous epoch wait for the commit. */
  const slowEpochs = (schema: string) => `
    create function ${schema}.slow() returns trigger language plpgsql as
    $$ begin perform pg_sleep(0.15); return null; end $$;
    create trigger slow_epoch after update on ${schema}.leadership for each row
    when (old.epoch <> new.epoch) execute function ${schema}.slow()`;

  for (const [label, more] of [
    ["", () => ""],
    [", in a new epoch that pending heartbeats do not include", slowEpochs],
  ] as const) {
    it(`resumes without data loss once database space is available${label}`, async (t) => {
      const database = createDatabase(server());
      const writers = new Writers(database.url, database.schema);
      t.after(() => writers.killAll());
      writers.start();
      await writers.leader(50);
      await server().sql((sql) => sql.unsafe(`${fullDisk(database.schema)};${more(database.schema)}`));
      await waitMs(more === slowEpochs ? 3_000 : 300);
      await server().sql((sql) => sql.unsafe(`drop trigger full_disk on ${database.schema}.journal`));
      await writers.leader(50);
      await writers.killAll();
      assert.deepEqual(await findLostWrites(database, writers.acknowledged), nothingLost);
    });
  }
});
