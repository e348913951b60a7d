import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { type Emulator, type EmulatorOptions, startEmulator } from "../../../../emulator/index.ts";
import { Readiness } from "../../../../src/api/emulator/lifecycle.ts";
import { createDraftContract } from "../../../support/contracts.ts";
import { createSender, startTestEmulator } from "../../../support/emulator.ts";
import { postgresSkipReason, startPostgresServer } from "../../../support/postgres/server.ts";
import { startReceiver } from "../../../support/receiver.ts";
import { bulkOperations, createBulkBody } from "../../../support/routed-emulator.ts";
import { createSignal } from "../../../support/signal.ts";

interface Standby {
  /** The address of the router in this process. */
  readonly router: ReturnType<typeof createSender>;
  readonly url: string;
  readonly leader: string;
  /** Resolves when it leads. */
  readonly leads: Promise<Emulator>;
}

/** Another process of the same store, simulated with its own listeners. */
async function startStandby(t: TestContext, options: EmulatorOptions): Promise<Standby> {
  const abort = new AbortController();
  let leads: Promise<Emulator> | undefined;
  const at = await new Promise<{ routerUrl: string; leader: string }>((resolve, reject) => {
    leads = startEmulator({ port: 0, ...options, onLeaderChange: resolve, signal: abort.signal });
    leads.catch(reject);
  });
  t.after(async () => {
    abort.abort();
    await leads?.then((emulator) => emulator.close()).catch(() => {});
  });
  return { router: createSender(at.routerUrl), url: at.routerUrl, leader: at.leader, leads: leads! };
}

const map = (router: ReturnType<typeof createSender>, id: string) =>
  router("POST", bulkOperations.emails.path, { body: createBulkBody("emails", "eu-1", [id]) });

describe("standby of a shared PostgreSQL store", { skip: postgresSkipReason }, () => {
  const server = startPostgresServer();
  const createStoreOptions = () => ({ store: server().url(), schema: server().freshSchema() });

  it("forwards requests, streams and uploads to the leader", async (t) => {
    const options = createStoreOptions();
    const leader = await startTestEmulator(t, { ...options, ephemeral: false });
    const second = await startStandby(t, options);
    assert.equal(second.leader, leader.routerUrl);
    assert.deepEqual((await map(second.router, "e1")).status, 200);
    const control = createSender(`${second.url}/_emulator`, { authorization: `Bearer ${leader.token}` });
    const { body } = await control("GET", "state");
    assert.ok("e1" in (body as { mappings: { cluster_emails: object } }).mappings.cluster_emails);
    const long = "x".repeat(3 << 20);
    const large = await second.router("POST", "/_emulator/webhooks", { body: { long } });
    const straight = await leader.router("POST", "/_emulator/webhooks", { body: { long } });
    assert.deepEqual([large.status, large.body], [straight.status, straight.body]);
    const stream = await fetch(`${second.url}/_emulator/events`, {
      headers: { authorization: `Bearer ${leader.token}` },
    });
    const reader = stream.body!.getReader();
    assert.match(Buffer.from((await reader.read()).value!).toString(), /begin/);
    await reader.cancel();
  });

  it("leaves a connection to the next request if the leader reads only the start of an upload", async (t) => {
    const options = createStoreOptions();
    await startTestEmulator(t, { ...options, ephemeral: false });
    const { url } = await startStandby(t, options);
    const { host, port } = new URL(url);
    const half = "x".repeat(1 << 20);
    const socket = connect(Number(port), "127.0.0.1").setEncoding("utf8");
    socket.write(`POST /_emulator/webhooks HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\n`);
    socket.write(`content-length: ${2 * half.length}\r\n\r\n${half}`);
    let received = "";
    for await (const piece of socket) {
      if (received === "")
        socket.write(`${half}GET /_emulator/live HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
      received += piece;
    }
    assert.deepEqual(received.match(/HTTP\/1\.1 \d+/g), ["HTTP/1.1 401", "HTTP/1.1 200"]);
  });

  it("reports its role and the leader, which only a store has", async (t) => {
    const options = createStoreOptions();
    const leader = await startTestEmulator(t, { ...options, ephemeral: false });
    const second = await startStandby(t, options);
    const getProbeResponses = async (router: ReturnType<typeof createSender>) => {
      // As a load balancer sees them, without details that only their own machine gets.
      const headers = { "x-forwarded-for": "192.0.2.7" };
      const responses = await Promise.all(
        ["ready", "live"].map((path) => router("GET", `/_emulator/${path}`, { headers })),
      );
      return responses.map(({ status, body }) => ({ status, body: Readiness.parse(body) }));
    };
    const all = await getProbeResponses(second.router);
    const id = all[0]!.body.instance_id;
    const leads = { status: 200, body: { instance_id: leader.instanceId, role: "leader", leader: leader.routerUrl } };
    const standsBy = { status: 200, body: { instance_id: id, role: "standby", leader: leader.routerUrl } };
    assert.notEqual(id, leader.instanceId);
    assert.deepEqual(
      [await getProbeResponses(leader.router), all],
      [
        [leads, leads],
        [standsBy, standsBy],
      ],
    );
    const roles = async (send: ReturnType<typeof createSender>) => {
      const { body } = await send("GET", "/_emulator/metrics", {
        headers: { authorization: `Bearer ${leader.token}` },
      });
      return String(body).match(/^svc_role.*$/gm);
    };
    const scraped = [`svc_role{instance_id="${leader.instanceId}",role="leader",leader="${leader.routerUrl}"} 1`];
    assert.deepEqual([await roles(leader.router), await roles(second.router)], [scraped, scraped]);
    const standalone = await startTestEmulator(t);
    assert.deepEqual(
      (await getProbeResponses(standalone.router)).map(({ body }) => body),
      [{ instance_id: standalone.instanceId }, { instance_id: standalone.instanceId }],
    );
  });

  it("stops alone when requested", async (t) => {
    const options = createStoreOptions();
    const leader = await startTestEmulator(t, { ...options, ephemeral: false });
    const second = await startStandby(t, options);
    const stop = (token: string) =>
      createSender(`${second.url}/_emulator`, { authorization: `Bearer ${token}` })("POST", "stop");
    assert.equal((await stop("wrong")).status, 401);
    assert.equal((await stop(leader.token)).status, 202);
    await assert.rejects(second.leads, { name: "CandidacyAbortedError" });
    assert.equal((await leader.router("GET", "/_emulator/ready")).status, 200);
  });

  it("takes over leadership without a failed request", async (t) => {
    const options = createStoreOptions();
    const leader = await startTestEmulator(t, { ...options, ephemeral: false });
    const second = await startStandby(t, options);
    let isOver = false;
    const statuses: number[] = [];
    const ids: string[] = [];
    const sending = Promise.all(
      Array.from({ length: 8 }, async (_, sender) => {
        for (let i = 0; !isOver; i += 1) {
          const id = `e${sender}-${i}`;
          const { status } = await map(second.router, id);
          statuses.push(status);
          ids.push(id);
        }
      }),
    );
    while (statuses.length < 50) await new Promise((resolve) => setImmediate(resolve));
    await leader.close();
    const emulator = await second.leads;
    const before = statuses.length;
    while (statuses.length < before + 50) await new Promise((resolve) => setImmediate(resolve));
    isOver = true;
    await sending;
    assert.deepEqual([...new Set(statuses)], [200]);
    const { body } = await createSender(emulator.controlUrl, { authorization: `Bearer ${leader.token}` })(
      "GET",
      "state",
    );
    const { cluster_emails } = (body as { mappings: { cluster_emails: object } }).mappings;
    assert.deepEqual(
      ids.filter((id) => !(id in cluster_emails)),
      [],
    );
  });

  it("takes over the clock as it was set, not as the options say", async (t) => {
    const options = { ...createStoreOptions(), clock: { mode: "manual", start: "2030-01-01T00:00:00Z" } } as const;
    const leader = await startTestEmulator(t, { ...options, seed: "demo", ephemeral: false });
    const lines: string[] = [];
    const second = await startStandby(t, { ...options, seed: "demo", log: (line) => lines.push(line) });
    assert.equal((await leader.control("PUT", "clock", { body: { mode: "real", speed: 60 } })).status, 200);
    await leader.close();
    const { controlUrl } = await second.leads;
    const { body } = await createSender(controlUrl, { authorization: `Bearer ${leader.token}` })("GET", "clock");
    const { mode, speed } = body as Record<string, unknown>;
    assert.deepEqual([{ mode, speed }, lines], [{ mode: "real", speed: 60 }, []]);
  });

  it("gets the work of a leader that serves requests until all in progress has ended", async (t) => {
    const options = createStoreOptions();
    const leader = await startTestEmulator(t, { ...options, graceMs: 3_600_000, ephemeral: false });
    const second = await startStandby(t, options);
    const receiver = await startReceiver(t);
    const [requested, released] = [createSignal(), createSignal()];
    receiver.respond(async (_, response) => {
      requested.raise();
      await released.signaled;
      response.writeHead(200).end();
    });
    await leader.api("POST", "/api/v2.1/public/webhooks/", {
      body: { title: "slow", url: receiver.url, only_for_activities: ["CONTRACT_CREATED"] },
    });
    await createDraftContract(leader.api);
    await requested.signaled;
    const body = JSON.stringify(createBulkBody("emails", "eu-1", ["early"]));
    const { port } = new URL(leader.routerUrl);
    const headers = { expect: "100-continue", "content-type": "application/json" };
    const early = request({ port, path: bulkOperations.emails.path, method: "POST", headers });
    await once(early, "continue");

    const closed = leader.close();
    await createDraftContract(leader.api);
    for (let i = 0; i < 300; i += 1) assert.equal((await map(second.router, `later${i}`)).status, 200);
    // The next leader delivers it, so its caller does not wait for the end of the work in progress.
    const resend = await leader.control("POST", "activities", {
      body: { activity: "CONTRACT_CREATED", contract_id: 1, wait: true },
    });
    assert.equal(resend.status, 200);
    assert.equal(receiver.received.length, 1);
    const [[response]] = await Promise.all([once(early, "response"), early.end(body)]);
    assert.equal(response.resume().statusCode, 200);
    released.raise();
    await Promise.all([closed, second.leads]);
    while (receiver.received.length < 3) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(
      receiver.received.map(({ body }) => JSON.parse(body.toString()).contract_id),
      [1, 2, 1],
    );
  });
});
