import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type EmulatorOptions, startEmulator } from "../../../../emulator/index.ts";
import { createSender, pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { postgresSkipReason, startPostgresServer } from "../../../support/postgres/server.ts";
import { startStallingProxy } from "../../../support/postgres/stalling-proxy.ts";
import { bulkOperations, createBulkBody } from "../../../support/routed-emulator.ts";
import { getState } from "../../travel/travel.ts";

const unavailableResponse = { status: 503, body: { detail: "The service cannot write its state" } };
/** The response of a process that does not or must not lead. */
const moved = { detail: "Another process leads this state, or is about to. Nothing was changed. Retry the request." };

type Router = TestEmulator["router"];

const map = (router: Router, id: string) =>
  router("POST", bulkOperations.emails.path, { body: createBulkBody("emails", "eu-1", [id]) });

/** The mapped e-mails of the test. */
async function listMappedEmails(emulator: Pick<TestEmulator, "control">): Promise<string[]> {
  const { mappings } = (await getState(emulator)) as { mappings: { cluster_emails: object } };
  return Object.keys(mappings.cluster_emails).filter((id) => /^(?:before|away|back)-/.test(id));
}

/** The router of a standby. */
async function startStandby(t: TestContext, options: EmulatorOptions): Promise<Router> {
  const abort = new AbortController();
  let over: Promise<unknown> = Promise.resolve();
  const url = await new Promise<string>((resolve, reject) => {
    const following = ({ routerUrl }: { routerUrl: string }) => resolve(routerUrl);
    const leads = startEmulator({ port: 0, ...options, onLeaderChange: following, signal: abort.signal });
    leads.catch(reject);
    over = leads.then((emulator) => emulator.close()).catch(() => {});
  });
  t.after(async () => {
    abort.abort();
    await over;
  });
  return createSender(url);
}

describe("unreachable database", { skip: postgresSkipReason }, () => {
  const server = startPostgresServer();

  it("makes leader and standby reject writes", async (t) => {
    const options = { store: server().url(), schema: server().freshSchema() };
    const leader = await startTestEmulator(t, { ...options, ephemeral: false });
    const second = await startStandby(t, options);
    assert.equal((await map(second, "before-1")).status, 200);
    await server().stop("SIGQUIT");
    t.after(() => server().start());
    assert.deepEqual(pickStatusAndBody(await map(leader.router, "away-1")), unavailableResponse);
    assert.deepEqual(pickStatusAndBody(await map(second, "away-2")), unavailableResponse);
  });

  it("makes a single process reject writes until the database is back", async (t) => {
    const standalone = await startTestEmulator(t, {
      store: server().url(),
      schema: server().freshSchema(),
      ephemeral: false,
    });
    assert.equal((await map(standalone.router, "before-1")).status, 200);
    const ready = async () => pickStatusAndBody(await standalone.router("GET", "/_emulator/ready"));
    const before = await ready();
    await server().stop("SIGINT");
    assert.deepEqual(pickStatusAndBody(await map(standalone.router, "away-1")), unavailableResponse);
    const reason = "The state cannot be written; reads continue";
    assert.deepEqual(await ready(), { status: 503, body: { ...(before.body as object), why: reason } });
    await server().start();
    while ((await map(standalone.router, "back-1")).status !== 200);
    assert.deepEqual([before.status, await ready()], [200, before]);
    assert.deepEqual((await listMappedEmails(standalone)).sort(), ["back-1", "before-1"]);
  });

  it("limits a leader without a confirmed lease to health and metrics endpoints", async (t) => {
    const proxy = await startStallingProxy(t, server());
    const store = server().url().replace(server().folder, proxy.folder);
    const schema = server().freshSchema();
    const leader = await startTestEmulator(t, { store, schema, ephemeral: false, leaseMs: 600 });
    t.after(() => proxy.goOn());
    assert.equal((await leader.router("GET", "/")).status, 200);
    proxy.stall();
    let response = await leader.router("GET", "/");
    while (response.status === 200) response = await leader.router("GET", "/");
    const { status, headers, body } = response;
    assert.deepEqual(
      [status, headers.get("x-svc-not-leading"), headers.get("retry-after"), body],
      [503, "1", "1", moved],
    );
    const paths = ["ready", "live", "metrics"];
    const statuses = await Promise.all(paths.map(async (path) => (await leader.control("GET", path)).status));
    // A proxy must not send requests to this process.
    assert.deepEqual(statuses, [503, 200, 200]);
    proxy.goOn();
    while (response.status !== 200) response = await leader.router("GET", "/");
    assert.equal((await leader.control("GET", "ready")).status, 200);
    proxy.stall();
    while (response.status === 200) response = await leader.router("GET", "/");
    assert.equal((await leader.control("POST", "stop")).status, 202);
    proxy.goOn();
    await leader.closed;
  });
});
