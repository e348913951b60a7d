import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RunningCluster } from "../../../../emulator/index.ts";
import { startEmulator } from "../../../../emulator/index.ts";
import { startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { startEmulatorProcess } from "../../../support/emulator-process.ts";
import { postgresSkipReason, startPostgresServer } from "../../../support/postgres/server.ts";
import { bulkOperations, createBulkBody } from "../../../support/routed-emulator.ts";
import { getState, restore, save } from "../../travel/travel.ts";

const getClusterKeys = (clusters: readonly RunningCluster[]) =>
  clusters.map(({ clientId, clientSecret }) => [clientId, clientSecret]);

async function mapEmail({ router }: TestEmulator, id: number): Promise<void> {
  const { status } = await router("POST", bulkOperations.emails.path, {
    body: createBulkBody("emails", "eu-1", [`e${id}`]),
  });
  assert.equal(status, 200);
}

/** The mapped e-mails of the list above. */
async function listMappedEmails(emulator: TestEmulator): Promise<string[]> {
  const { mappings } = (await getState(emulator)) as { mappings: { cluster_emails: object } };
  return Object.keys(mappings.cluster_emails).filter((id) => /^e\d$/.test(id));
}

const listSnapshotNames = async ({ control }: Pick<TestEmulator, "control">): Promise<string[]> =>
  ((await control("GET", "snapshots")).body as { name: string }[]).map(({ name }) => name);

describe("emulator in PostgreSQL", { skip: postgresSkipReason }, () => {
  const server = startPostgresServer();
  const createStoreOptions = () => ({ store: server().url(), schema: server().freshSchema() });

  it("restores rows, keys, snapshots and its token after a restart", async (t) => {
    const options = { ...createStoreOptions(), ephemeral: false };
    const first = await startTestEmulator(t, options);
    await mapEmail(first, 1);
    await save(first, "kept");
    await mapEmail(first, 2);
    const state = await getState(first);
    const { token, clusters } = first;
    await first.close();
    const second = await startTestEmulator(t, options);
    assert.deepEqual(
      {
        token: second.token,
        clusters: getClusterKeys(second.clusters),
        store: second.store,
        state: await getState(second),
      },
      { token, clusters: getClusterKeys(clusters), store: server().url(), state: state },
    );
    await restore(second, "kept");
    assert.deepEqual(await listMappedEmails(second), ["e1"]);
    await second.close();
    const third = await startTestEmulator(t, options);
    assert.deepEqual([await listMappedEmails(third), await listSnapshotNames(third)], [["e1"], ["before-1", "kept"]]);
  });

  it("loses no acknowledged data when it is killed", async (t) => {
    const options = { ...createStoreOptions(), port: 0 };
    const first = await startEmulatorProcess(t, options);
    await first.control("PUT", "snapshots/before");
    const { status } = await first.api("POST", "/api/v2.1/public/webhooks/", {
      body: { title: "Hooks", url: "http://127.0.0.1:9/", only_for_activities: ["CONTRACT_CREATED"] },
    });
    await first.kill();
    const second = await startEmulatorProcess(t, options);
    const { rows } = (await getState(second)) as { rows: { webhook_subscriptions: { title: string }[] } };
    assert.deepEqual(
      [status, rows.webhook_subscriptions.map(({ title }) => title), await listSnapshotNames(second)],
      [201, ["Hooks"], ["before"]],
    );
  });

  it("rejects an additional file and an invalid URL without printing its password", async () => {
    const getStartResult = (options: object) =>
      startEmulator(options).then(
        () => "started",
        ({ name, message }: Error) => `${name}: ${message}`,
      );
    assert.deepEqual(
      await Promise.all([
        getStartResult({ store: "postgres://a:s3cret@h/db", file: "emulator.json" }),
        getStartResult({ store: "mysql://a:s3cret@h/db" }),
        getStartResult({ store: "postgres://a:s3cret@h/db?pool=1" }),
        ...["1/s3cret", "1?s3cret", "1#s3cret", "1@s3/cret", "1://s3cret"].map((password) =>
          getStartResult({ store: `postgres://a:${password}@h/db` }),
        ),
        getStartResult({ store: "postgres://h/db", schema: "Drop Table" }),
        getStartResult({ schema: "svc" }),
      ]),
      [
        "InvalidOptionsError: startEmulator: store cannot be used with file",
        "InvalidOptionsError: startEmulator: store must be a URL (postgres://USER@HOST:PORT/DATABASE, or postgres://USER@/DATABASE?host=/FOLDER for a Unix socket)",
        "InvalidOptionsError: startEmulator: store must have only the parameters host, port and sslmode, got pool",
        ...Array.from(
          { length: 5 },
          () =>
            "InvalidOptionsError: startEmulator: store must escape / ? # and @ in user, password and database as %2F %3F %23 and %40",
        ),
        "InvalidOptionsError: startEmulator: schema must be up to 63 lower-case letters, digits and underscores, and begin with neither a digit nor pg_",
        "InvalidOptionsError: startEmulator: schema requires store",
      ],
    );
  });
});
