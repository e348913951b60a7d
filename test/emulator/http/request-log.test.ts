import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { redactHeaders } from "../../../emulator/http/request-log/redact.ts";
import { type LoggedRequest, RequestLog } from "../../../emulator/http/request-log/request-log.ts";
import { createDraftContract } from "../../support/contracts.ts";
import { createSender, pickStatusAndBody, startTestEmulator } from "../../support/emulator.ts";

/** Returns the log entry of a request that has just received its response. */
const createLoggedRequest = (log: RequestLog, target: string, rawHeaders: readonly string[] = []): LoggedRequest => ({
  id: log.nextNumber(),
  listener: "router",
  service: "router",
  operation: undefined,
  method: "GET",
  caller: undefined,
  target,
  rawHeaders,
  status: 200,
  failure: undefined,
  findings: [],
  at: 0,
  wallAt: 0,
  durationMs: 0,
});
const listTargets = (log: RequestLog) => log.list().map(({ id, target }) => `${id} ${target}`);

describe("request log", () => {
  it("retains the newest requests up to a byte limit and counts dropped ones", () => {
    const log = new RequestLog(5_000);
    for (let i = 1; i <= 20; i += 1) log.add(createLoggedRequest(log, `/${i}`.padEnd(600, "x")));
    const { bytes, ...amount } = log.amount;
    assert.deepEqual(amount, { count: 5, max_bytes: 5_000, dropped: 15 });
    assert.ok(bytes > 5 * 600 && bytes <= 5_000, String(bytes));
    assert.deepEqual(
      log.list().map(({ id }) => id),
      [16, 17, 18, 19, 20],
    );
    log.clear();
    log.add(createLoggedRequest(log, "/f"));
    assert.deepEqual([log.amount.count, log.amount.dropped, listTargets(log)], [1, 0, ["21 /f"]]);
  });

  it("stores no part of a request over its limit", () => {
    const log = new RequestLog(5_000);
    log.add(createLoggedRequest(log, "/before"));
    log.add(createLoggedRequest(log, "/", ["x-a", "y".repeat(10_000)]));
    assert.deepEqual(log.amount, { count: 0, bytes: 0, max_bytes: 5_000, dropped: 2 });
    log.add(createLoggedRequest(log, "/small"));
    assert.deepEqual(listTargets(log), ["3 /small"]);
  });

  it("counts the size of findings", () => {
    const log = new RequestLog(5_000);
    const findings = [{ code: "mapping-moved", detail: "z".repeat(2_000) }];
    for (let i = 0; i < 3; i += 1) log.add({ ...createLoggedRequest(log, "/"), findings });
    assert.equal(log.amount.count, 2);
  });

  it("notifies watchers until they stop", () => {
    const log = new RequestLog(5_000);
    const targets: string[] = [];
    const end = log.watch(({ target }) => targets.push(target));
    log.add(createLoggedRequest(log, "/a"));
    end();
    log.add(createLoggedRequest(log, "/b"));
    assert.deepEqual(targets, ["/a"]);
  });

  it("stores equal headers once", () => {
    const log = new RequestLog(5_000);
    for (const host of ["a", "a", "b"]) log.add(createLoggedRequest(log, "/", ["Host", host]));
    const [first, second, third] = log.list().map(({ rawHeaders }) => rawHeaders);
    assert.equal(second, first);
    assert.deepEqual(third, ["Host", "b"]);
  });
});

describe("logged request", () => {
  it("contains values of safe headers and only the names of others", () => {
    const raw = [
      "Host",
      "a",
      "client-secret",
      "s",
      "Authorization",
      "Bearer s",
      "via",
      "1.1 a",
      "via",
      "1.1 b",
      "X-New",
      "s",
      "Connection",
      "keep-alive",
    ];
    assert.deepEqual(
      { ...redactHeaders(raw) },
      {
        host: "a",
        "client-secret": "[redacted]",
        authorization: "[redacted]",
        via: "1.1 a, 1.1 b",
        "x-new": "[redacted]",
        connection: "keep-alive",
      },
    );
  });

  it("contains the page that sent the request", () =>
    assert.deepEqual(
      { ...redactHeaders(["Referer", "http://x/contract-invite/creator/by_token/s3cr3t?code=c&page=2"]) },
      { referer: "http://x/contract-invite/creator/by_token/[redacted]?code=[redacted]&page=[redacted]" },
    ));
});

describe("GET /_emulator/requests", () => {
  it("omits favicon requests", async (t) => {
    const { router, control } = await startTestEmulator(t);
    await router("GET", "/favicon.ico");
    await router("GET", "/router/v1/clustrs");
    const { items } = (await control("GET", "requests?service=router")).body as { items: { target: string }[] };
    assert.deepEqual(
      items.map(({ target }) => target),
      ["/router/v1/clustrs"],
    );
  });

  it("returns the workspace of each request, even if rejected, and filters by it", async (t) => {
    const { control, clusters, controlUrl } = await startTestEmulator(t);
    const [first, second] = (await control("GET", "workspaces")).body as readonly Readonly<Record<string, string>>[];
    const showStatus = (
      workspace: Readonly<Record<string, string>>,
      headers: Readonly<Record<string, string>> = {},
    ) => {
      const { client_id = "", client_secret = "" } = workspace;
      const { url } = clusters.find(({ id }) => id === workspace.cluster_id)!;
      const send = createSender(url, { "client-id": client_id, "client-secret": client_secret });
      return send("GET", "/api/v2.1/public/contracts/T-1/status", { headers });
    };
    await showStatus(first!);
    await showStatus(second!);
    await showStatus(second!, { "user-email": "nobody@example.com" });
    await showStatus(second!, { "client-secret": "wrong" });
    const { token } = (await control("POST", "tokens/bound", { body: { role: "read", workspace: second!.name } }))
      .body as { token: string };
    await createSender(controlUrl, { authorization: `Bearer ${token}` })("GET", "webhooks");

    const listOf = async (query: string) => {
      const { items } = (await control("GET", `requests?${query}`)).body as { items: Record<string, unknown>[] };
      return items.map(({ operation, status, workspace_id }) => [operation, status, workspace_id]);
    };
    assert.deepEqual(await listOf(`workspace=${second!.id}`), [
      ["contracts.status", 404, second!.id],
      ["contracts.status", 403, second!.id],
      ["emulator-webhooks.list", 200, second!.id],
    ]);
    assert.deepEqual(await listOf("status=401"), [["contracts.status", 401, undefined]]);
  });

  it("lists the requests of each listener with the likely intended operation", async (t) => {
    const { router, api, control } = await startTestEmulator(t);
    await control("DELETE", "requests");
    await router("GET", "/router/v1/cluster_emails/email/abc", { headers: { "x-cluster-key": "wrong" } });
    await router("POST", "/router/v1/cluster_emails/bulk", { body: {} });
    await api("GET", "/api/v2.1/public/contract/T-1/status");
    const { body } = await control("GET", "requests?service=router");
    const { items, total } = body as { items: Record<string, unknown>[]; total: number };
    assert.equal(total, 2);
    const { id, wall_at, headers, duration_ms, ...rest } = items[0]!;
    assert.equal((headers as Record<string, string>)["x-cluster-key"], "[redacted]");
    assert.deepEqual([typeof id, typeof wall_at, typeof duration_ms], ["number", "string", "number"]);
    assert.deepEqual(rest, {
      at: "2031-01-02T03:04:05.000Z",
      listener: "router",
      service: "router",
      operation: "cluster-emails.show",
      nearest: null,
      method: "GET",
      target: "/router/v1/cluster_emails/email/abc",
      status: 401,
      failure: "invalid-cluster-key",
      caller: null,
      findings: [],
    });
    assert.deepEqual(
      [items[1]!.failure, (items[1]!.findings as { code: string }[]).map(({ code }) => code)],
      ["validation", ["no-cluster-key"]],
    );
    const unknownContract = (await control("GET", "requests?service=contracts&status=404&limit=1"))
      .body as typeof body & { items: { nearest: string }[] };
    assert.match(unknownContract.items[0]!.nearest, /status GET \/api\/v2\.1\/public\/contracts\/\{[a-z_]+\}\/status/);
    assert.deepEqual((await control("GET", "requests?since=2031-01-02T03:04:06Z")).body, {
      items: [],
      total: 0,
      reads_omitted: 0,
    });
  });

  it("recognizes a contract API request that the router forwards", async (t) => {
    const { control, routerUrl, clusters } = await startTestEmulator(t);
    const { clientId, clientSecret } = clusters[0]!;
    const headers = { "client-id": clientId!, "client-secret": clientSecret! };
    for (const path of ["contracts/", "contrcts/"]) await fetch(`${routerUrl}/api/v2.1/public/${path}`, { headers });
    const { items } = (await control("GET", "requests?service=router")).body as {
      items: { target: string; nearest: string | null }[];
    };
    assert.deepEqual(
      items.map(({ target, nearest }) => [target, nearest]),
      [
        ["/api/v2.1/public/contracts/", null],
        ["/api/v2.1/public/contrcts/", "contracts.list GET /api/v2.1/public/contracts/"],
      ],
    );
  });

  it("ignores an HTML page that a cluster returns instead of an API response", async (t) => {
    const { api, control, clusters } = await startTestEmulator(t);
    await createDraftContract(api);
    await fetch(`${clusters[0]!.url}/contracts/T-1`);
    await fetch(`${clusters[0]!.url}/contrcts/T-1`);
    const { items } = (await control("GET", "requests?service=contracts")).body as {
      items: { target: string; nearest: string | null }[];
    };
    assert.deepEqual(
      items.slice(1).map(({ target, nearest }) => [target, nearest]),
      [
        ["/contracts/T-1", null],
        ["/contrcts/T-1", "emulator-contracts.show GET /_emulator/contracts/{id}"],
      ],
    );
  });

  it("omits control plane reads on request, and finds a request by number", async (t) => {
    const { router, control } = await startTestEmulator(t);
    await router("GET", "/");
    await control("GET", "clock");
    await control("POST", "clock/advance", { body: { by: "PT1M" } });
    const search = async (query: string) => {
      const { items, total } = (await control("GET", `requests?${query}`)).body as {
        items: { id: number; operation: string; replaced?: true }[];
        total: number;
      };
      return [total, ...items.map(({ id, operation, replaced }) => `${id} ${operation}${replaced ? " replaced" : ""}`)];
    };
    assert.deepEqual(await search("reads=false"), [2, "1 health.show", "3 clock.advance"]);
    assert.deepEqual(await search("reads=false&service=emulator"), [1, "3 clock.advance"]);
    assert.deepEqual(await search("id=2"), [1, "2 clock.show"]);
    assert.deepEqual(await search("id=999"), [0]);
    await control("POST", "reset");
    assert.deepEqual(await search("id=2"), [1, "2 clock.show replaced"]);
    for (let count = 0; count < 2; count += 1) await router("GET", "/");
    assert.deepEqual(await search("id=2"), [2, "2 clock.show replaced", "2 health.show"]);
  });

  it("hides invite tokens on every listener, in any spelling", async (t) => {
    const emulator = await startTestEmulator(t, { seed: "demo" });
    const secret = "creator-northwind";
    const response = await fetch(`${emulator.controlUrl}/requests/events`, {
      headers: { authorization: `Bearer ${emulator.token}` },
    });
    const targets = [
      `/contract-invite/creator/by_token/${secret}`,
      `/contract-invite/creator/by_token%2F${secret}`,
      `/v3/contract-invite/creator//by_token/${secret}/`,
      `/organization/user-invite/BY%5FTOKEN/${secret}?x=1`,
      `/auth/v3/invite_info/?%74oken=${secret}&tok%65n=${secret}&token=${secret}`,
      `/anything?next=%2Fcontract-invite%2Fcreator%2Fby_token%2F${secret}&creator_token=${secret}`,
      `/_storage/a/b?X-Amz-Signature=${secret}&X-Sig-Signature=${secret}&cp_token=${secret};refresh_token=${secret}`,
      `/oauth?state=${secret}&device_code=${secret}&code=${secret}#access_token=${secret}`,
    ];
    const headers = { referer: `http://app.example/x/by_token/${secret}?token=${secret}`, "x-new": secret };
    for (const target of targets) {
      for (const base of [emulator.routerUrl, emulator.clusters[0]!.url]) await fetch(base + target, { headers });
    }
    const { body } = await emulator.control("GET", "requests?limit=1000");
    const { items } = body as { items: { listener: string; target: string }[] };
    assert.equal(JSON.stringify(items).includes(secret), false, JSON.stringify(items, null, 1));
    const listeners = new Set(items.map(({ listener }) => listener));
    assert.ok(listeners.has("router") && listeners.has(emulator.clusters[0]!.id));
    const reader = response.body!.getReader();
    let events = "";
    while (!events.includes("/oauth")) events += Buffer.from((await reader.read()).value!).toString();
    await reader.cancel();
    assert.equal(events.includes(secret), false, events);
  });

  it("streams events on request, to a GET only", async (t) => {
    const emulator = await startTestEmulator(t);
    const headers = { accept: "text/event-stream", authorization: `Bearer ${emulator.token}` };
    const streams = await Promise.all([
      fetch(`${emulator.controlUrl}/requests?service=router`, { headers }),
      fetch(`${emulator.controlUrl}/requests/events?service=router`, { headers }),
    ]);
    await emulator.router("GET", "/");
    for (const { body } of streams) {
      const reader = body!.getReader();
      const { value } = await reader.read();
      const event = JSON.parse(
        Buffer.from(value!)
          .toString()
          .replace(/^data: /, ""),
      );
      assert.deepEqual([event.operation, event.status], ["health.show", 200]);
      await reader.cancel();
    }
    assert.equal((await fetch(`${emulator.controlUrl}/requests`, { method: "DELETE", headers })).status, 204);
  });

  it("returns short JSON bodies that it can read on request, without secrets", async (t) => {
    const { api, control } = await startTestEmulator(t);
    const webhook = (title: string) => ({
      title,
      url: "http://localhost:9/hooks",
      only_for_activities: ["CONTRACT_SIGNED"],
      custom_headers: { "X-Token": "s3cret-token", "X-Partner": "letmein" },
    });
    for (const title of ["short", "long".repeat(5_000)]) {
      await api("POST", "/api/v2.1/public/webhooks/", { body: webhook(title) });
    }
    // The emulator rejects this body. JSON.parse accepts it.
    const body = `${"[".repeat(6_000)}${"]".repeat(6_000)}`;
    await api("POST", "/api/v2.1/public/webhooks/", { body, headers: { "content-type": "application/json" } });
    const bodiesOf = async (query: string) => {
      const { body } = await control("GET", `requests?operation=webhooks.create${query}`);
      return (body as { items: { body?: unknown }[] }).items.map((one) => one.body);
    };
    assert.deepEqual(await bodiesOf("&bodies=true"), [
      { ...webhook("short"), custom_headers: { "X-Token": "[redacted]", "X-Partner": "[redacted]" } },
      undefined,
      undefined,
    ]);
    assert.deepEqual(await bodiesOf(""), [undefined, undefined, undefined]);
  });

  it("hides the value of a fault's header, also from the role read", async (t) => {
    const { control, controlUrl } = await startTestEmulator(t);
    for (const header of ["client-secret: s3cret", "x-team: a", "x-team"])
      await control("POST", "faults", { body: { direction: "incoming", header, status: 503 } });
    const hidden = ["client-secret: [redacted]", "x-team: a", "x-team"];
    const { items } = (await control("GET", "requests?operation=faults.add&bodies=true")).body as {
      items: readonly { body: { header: string } }[];
    };
    const { token } = (await control("POST", "tokens/viewer", { body: { role: "read" } })).body as { token: string };
    const faults = (await createSender(controlUrl, { authorization: `Bearer ${token}` })("GET", "faults")).body;
    assert.deepEqual(
      [items.map(({ body }) => body.header), (faults as { header: string }[]).map(({ header }) => header)],
      [hidden, hidden],
    );
  });

  it("hides the requests of a former workspace that had the same ID and a token of the same name", async (t) => {
    const { control, controlUrl } = await startTestEmulator(t);
    const createTeam = async (name: string) => {
      const { id } = (await control("POST", "workspaces", { body: { name } })).body as { id: number };
      const created = await control("POST", "tokens/ci", { body: { role: "operate", workspace: name } });
      const send = createSender(controlUrl, { authorization: `Bearer ${(created.body as { token: string }).token}` });
      await send("POST", "contracts/T-1/sign", { body: { email: `${name}@acme.example` } });
      return { id, text: JSON.stringify((await send("GET", "requests?bodies=true")).body) };
    };
    const former = await createTeam("a");
    await control("POST", "reset");
    const next = await createTeam("b");
    const seen = [former, next].map(({ text }) => text.match(/\w@acme/g));
    assert.deepEqual([next.id, ...seen], [former.id, ["a@acme"], ["b@acme"]]);
  });

  it("requires the control plane token", async (t) => {
    const { router } = await startTestEmulator(t);
    const without: Record<string, string>[] = [{}, { authorization: "Bearer" }, { authorization: "Basic eDp5" }];
    for (const headers of without) {
      assert.deepEqual(pickStatusAndBody(await router("GET", "/_emulator/requests", { headers })), {
        status: 401,
        body: {
          error: {
            code: "unauthorized",
            message: "The control plane requires `authorization: Bearer <token>`.",
            hint: "Use the token that `svc emulator start` prints and the run file next to the state contains.",
          },
        },
      });
    }
  });
});
