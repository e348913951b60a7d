import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { namedSeeds } from "../../../../emulator/compose/state/seed.ts";
import { unemulatedRoutes } from "../../../../src/api/contracts/unemulated-routes.ts";
import { createSender, pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";

describe("unknown path at a cluster", () => {
  it("returns 404 with the nearest operation below the public API or control plane", async (t) => {
    const emulator = await startTestEmulator(t);
    for (const path of [
      "/api/v2.1/public/contract/",
      "/api/v2/public/contracts/",
      "/api/v3/public/contracts/",
      "/api/v10.2/public/webhooks/",
      "/api/v1/public/",
      "//api/v2.1/public/contracts/",
      "/api//v2.1//public/contracts/",
      "/_emulator/ready",
      "/_emulator/metrics",
    ]) {
      assert.deepEqual(
        pickStatusAndBody(await emulator.api("GET", path)),
        { status: 404, body: { detail: "Not found." } },
        path,
      );
    }
    const { body } = await emulator.control("GET", "clusters/eu-1/inbox");
    assert.equal((body as { total: number }).total, 0);
    assert.equal(
      (await emulator.api("GET", "/api/v2/public/contracts/")).headers.get("x-svc-nearest"),
      "contracts.list GET /api/v2.1/public/contracts/",
    );
  });

  it("returns 501 for a known route, unless the seed scripts a response", async (t) => {
    const path = "/api/v2.1/public/contracts/1/related_contracts/";
    const emulator = await startTestEmulator(t);
    const notBuilt = {
      status: 501,
      body: {
        error: {
          code: "not_built",
          message:
            "The emulator does not have this route (contracts that are related to each other). The service has it, but these facts are not public: how the response represents another contract and its relation.",
          hint: "Script a response in the seed (apps.answers).",
        },
      },
    };
    assert.deepEqual(pickStatusAndBody(await emulator.api("GET", path)), notBuilt);
    assert.deepEqual(pickStatusAndBody(await emulator.api("GET", path.slice(0, -1))), notBuilt);
    for (const { path, missing } of unemulatedRoutes) {
      const concretePath = path.replace(/\{\w+\}/g, "1").replace("*", "some/thing");
      const { status, body } = await emulator.api("POST", concretePath, { body: {} });
      assert.equal(status, 501, concretePath);
      assert.ok((body as typeof notBuilt.body).error.message.endsWith(`: ${missing}.`), concretePath);
    }
    const { body } = await emulator.control("GET", "clusters/eu-1/inbox");
    assert.equal((body as { total: number }).total, 0);

    const cannedResponses = [{ method: "GET", path, status: 200, body: { items: [] } }];
    const scripted = await startTestEmulator(t, { seed: { ...namedSeeds.demo, apps: { answers: cannedResponses } } });
    assert.deepEqual(pickStatusAndBody(await scripted.api("GET", path)), { status: 200, body: { items: [] } });
  });

  it("echoes other paths like forwarded ones, with a finding and an inbox entry", async (t) => {
    const emulator = await startTestEmulator(t);
    assert.deepEqual(
      pickStatusAndBody(await createSender(emulator.clusters[1]!.url)("POST", "/public/things?x=1", { body: {} })),
      { status: 200, body: { cluster_id: "us-1", method: "POST", path: "/public/things" } },
    );
    const { body: log } = await emulator.control("GET", "requests?service=contracts");
    const [{ findings }] = (log as { items: { findings: object[] }[] }).items as [never];
    assert.deepEqual(findings, [
      { code: "unknown-path", detail: "responded with an echo; the real cluster may not have this path" },
    ]);
    const { body } = await emulator.control("GET", "clusters/us-1/inbox");
    assert.equal((body as { total: number }).total, 1);
  });

  it("returns 404 under --strict=paths, except for events of apps", async (t) => {
    const emulator = await startTestEmulator(t, { strict: ["paths"] });
    const send = createSender(emulator.clusters[1]!.url);
    assert.equal((await send("POST", "/public/things?x=1", { body: {} })).status, 404);
    for (const [path, body] of [
      ["/router/v1/integrations/chat_a/webhook/event/", {}],
      ["/router/v1/integrations/destinations/us/chat_a/webhook/options", { options: [] }],
      ["/router/v1/integrations/chat_b/webhook/messaging", {}],
      ["/router/v1/billing/webhook", {}],
    ] as const) {
      assert.deepEqual(pickStatusAndBody(await send("POST", path, { body: {} })), { status: 200, body }, path);
    }
    const { body } = await emulator.control("GET", "clusters/us-1/inbox");
    const rows = (body as { items: { status: number }[] }).items;
    assert.deepEqual(
      rows.map(({ status }) => status),
      [404, 200, 200, 200, 200],
    );
  });

  it("decodes the path before matching: an escaped slash is a separator", async (t) => {
    const emulator = await startTestEmulator(t, { seed: { ...namedSeeds.demo, apps: { answers: scriptedResponses } } });
    const redirect = "/router/v1/oauth2.0/external";
    const echo = (path: string) => ({ cluster_id: "eu-1", method: "GET", path });
    const divided = await emulator.router("GET", `${redirect}/a%2Fb/redirect`);
    assert.deepEqual(pickStatusAndBody(divided), { status: 200, body: echo(`${redirect}/a%2Fb/redirect`) });
    assert.equal(divided.headers.get("x-svc-matched"), "catch-all");
    const send = createSender(emulator.clusters[0]!.url);
    for (const [path, status, body] of [
      ["/api%2Fv2.1/public/nowhere", 404, { detail: "Not found." }],
      ["/%72outer/v1/oauth2.0/external/ProviderA/redirect", 404, { detail: "Unknown or used state" }],
      ["/scripted/%C3%A4%20b", 200, { plain: true }],
      ["/scripted/%c3%a4+c", 200, { escaped: true }],
      ["/100%/x", 200, echo("/100%/x")],
    ] as const) {
      assert.deepEqual(pickStatusAndBody(await send("GET", path)), { status, body }, path);
    }
    const { status, body } = await emulator.router("GET", "/.well-known/oauth%2Dauthorization-server");
    assert.deepEqual([status, (body as { issuer: string }).issuer], [200, emulator.routerUrl]);
    const page = await send("GET", "/contracts/T%2D1");
    assert.deepEqual([page.status, /Contract T-1 not found/.test(String(page.body))], [404, true]);
  });
});

/** Paths of a seed, plain and escaped. */
const scriptedResponses = [
  { method: "GET", path: "/scripted/ä b", status: 200, body: { plain: true } },
  { method: "GET", path: "/scripted/%C3%A4+c", status: 200, body: { escaped: true } },
];
