import assert from "node:assert/strict";
import { request } from "node:http";
import { describe, it, type TestContext } from "node:test";
import { type Emulator, type EmulatorOptions, startEmulator } from "../../../../emulator/index.ts";
import { createSender, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { postgresSkipReason, startPostgresServer } from "../../../support/postgres/server.ts";
import { startReceiver } from "../../../support/receiver.ts";
import { bulkOperations, createBulkBody } from "../../../support/routed-emulator.ts";
import { exchangeBytes, parseResponse } from "../../http/serving.ts";

interface LogEntry {
  readonly operation: string | null;
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Requests in the leader's log, without those of the control plane. */
async function listRequests(leader: TestEmulator): Promise<readonly LogEntry[]> {
  const { items } = (await leader.control("GET", "requests")).body as { items: LogEntry[] };
  return items.filter(({ target }) => !target.startsWith("/_emulator/"));
}

/** One header of the last request in the leader's log. Undefined if it had no such header. */
async function getLastHeader(leader: TestEmulator, expected: string): Promise<string | undefined> {
  const headers = Object.entries((await listRequests(leader)).at(-1)?.headers ?? {});
  return headers.find(([name]) => name.toLowerCase() === expected)?.[1];
}

describe("standby of a PostgreSQL store", { skip: postgresSkipReason }, () => {
  const server = startPostgresServer();

  /** A leader and the URL of its standby, with separate options. */
  async function pair(t: TestContext, ofLeader: EmulatorOptions = {}, ofStandby: EmulatorOptions = ofLeader) {
    const database = { store: server().url(), schema: server().freshSchema() };
    const leader = await startTestEmulator(t, { ...database, ephemeral: false, ...ofLeader });
    const abort = new AbortController();
    let leads: Promise<Emulator> | undefined;
    const { routerUrl } = await new Promise<{ routerUrl: string }>((following, reject) => {
      leads = startEmulator({ port: 0, ...database, ...ofStandby, onLeaderChange: following, signal: abort.signal });
      leads.catch(reject);
    });
    t.after(async () => {
      abort.abort();
      await leads?.then((emulator) => emulator.close()).catch(() => {});
    });
    return { leader, url: routerUrl, standby: createSender(routerUrl) };
  }

  it("rejects foreign hosts on every path without forwarding", async (t) => {
    const { leader, standby } = await pair(t);
    const headers = { host: "evil.example" };
    const body = createBulkBody("emails", "eu-1", ["e1"]);
    const statuses = await Promise.all(
      [
        standby("GET", "/", { headers }),
        standby("GET", "/_emulator/ready", { headers }),
        standby("GET", "/_emulator/live", { headers }),
        standby("GET", "/_emulator/requests", { headers }),
        standby("POST", bulkOperations.emails.path, { headers, body }),
      ].map(async (pendingResponse) => (await pendingResponse).status),
    );
    assert.deepEqual([statuses, await listRequests(leader)], [[403, 403, 403, 403, 403], []]);
  });

  it("returns the leader's description of the service", async (t) => {
    const { leader, standby } = await pair(t);
    const [direct, forwarded] = [await leader.router("GET", "/"), await standby("GET", "/")];
    assert.deepEqual([forwarded.status, forwarded.body], [direct.status, direct.body]);
    assert.equal((await listRequests(leader)).length, 2);
  });

  it("responds to a target without a path as the leader does", async (t) => {
    const { leader, url } = await pair(t);
    const lines = ["OPTIONS *", "GET *", "GET ftp://files.example/x"];
    const sendAll = async (to: string): Promise<object[]> => {
      const { host } = new URL(to);
      const heads = lines.map((line) => `${line} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
      const responses = await Promise.all(heads.map(async (head) => parseResponse(await exchangeBytes(to, [head]))));
      return responses.map(({ status, body }) => ({ status, body }));
    };
    const ofLeader = await sendAll(leader.routerUrl);
    assert.deepEqual(await sendAll(url), ofLeader);
    const targets = (await listRequests(leader)).map(({ method, target }) => `${method} ${target}`);
    const logged = ["GET [redacted]", "GET [redacted]//files.example/x", "OPTIONS [redacted]"];
    assert.deepEqual(
      targets.toSorted(),
      logged.flatMap((line) => [line, line]),
    );
  });

  it("checks hosts and X-Forwarded-* by its own settings before forwarding", async (t) => {
    const trusting = { trustedProxies: ["127.0.0.1"], allowedHosts: ["sandbox.example"] };
    const otherProxies = { trustedProxies: ["192.0.2.1"] };
    const forwardedHeaders = { "x-forwarded-for": "198.51.100.7", "x-forwarded-host": "sandbox.example" };
    const readForwarded = async (
      ofLeader: EmulatorOptions,
      ofStandby: EmulatorOptions,
      headers: Record<string, string>,
    ) => {
      const { leader, standby } = await pair(t, ofLeader, ofStandby);
      const { status } = await standby("GET", "/router/v1/clusters/", { headers });
      return [status, await getLastHeader(leader, "x-forwarded-for"), await getLastHeader(leader, "host")];
    };
    const host = { host: "sandbox.example:4010" };
    assert.deepEqual(await readForwarded(otherProxies, trusting, { ...forwardedHeaders, ...host }), [
      200,
      "198.51.100.7",
      host.host,
    ]);
    const [status, forwardedFor] = await readForwarded(trusting, otherProxies, forwardedHeaders);
    assert.deepEqual([status, forwardedFor], [200, undefined]);
  });

  it("neither forwards hop-by-hop headers nor trusts internal headers of a client", async (t) => {
    const { leader, url } = await pair(t);
    const sent = {
      ...{ connection: "x-mine, close", "x-mine": "1", te: "trailers", "x-other": "2" },
      ...{ "x-svc-forwarded": "1", "x-svc-not-leading": "1", "content-type": "application/json" },
    };
    const status = await new Promise((resolve, reject) => {
      const posting = request(`${url}${bulkOperations.emails.path}`, { method: "POST", headers: sent }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      posting.once("error", reject);
      posting.end(JSON.stringify(createBulkBody("emails", "eu-1", ["e1"])));
    });
    const names = ["x-mine", "te", "x-other", "x-svc-forwarded", "x-svc-not-leading"];
    const lastHeaders = await Promise.all(names.map((name) => getLastHeader(leader, name)));
    assert.deepEqual([status, lastHeaders], [200, [undefined, undefined, "[redacted]", undefined, undefined]]);
  });

  it("does not repeat a request if a back end responds like a standby", async (t) => {
    const backEnd = await startReceiver(t);
    backEnd.respond((_, response) => response.writeHead(503, { "x-svc-not-leading": "1" }).end("busy"));
    const clusters = [{ id: "eu-1", label: "eu", key: "key-of-eu-1", external_url: backEnd.url }];
    const { standby } = await pair(t, { seed: { clusters } });
    const response = await standby("POST", "/api/v1/anything", { body: { once: true } });
    assert.deepEqual(
      [response.status, response.body, response.headers.get("x-svc-not-leading"), backEnd.received.length],
      [503, "busy", null, 1],
    );
  });
});
