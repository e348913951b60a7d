import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";

const now = "2031-01-02T03:04:05.000Z";

describe("webhooks on the control plane", () => {
  it("emulator-webhooks.list returns webhooks with counters and custom header names", async (t) => {
    const running = await startTestEmulator(t);
    const id = await subscribe(running, "http://127.0.0.1:9/hooks", { custom_headers: { "X-Token": "secret" } });
    assert.deepEqual(pickStatusAndBody(await running.control("GET", "webhooks")), {
      status: 200,
      body: [
        {
          id,
          cluster_id: "eu-1",
          workspace_id: 1,
          workspace: "Northwind Legal",
          title: "Hooks",
          url: "http://127.0.0.1:9/hooks",
          only_for_activities: ["CONTRACT_CREATED"],
          custom_headers: ["X-Token"],
          status: "ACTIVE",
          failure_count: 0,
          disabled_at: null,
          disabled_by: null,
          retry_schedule: ["5m", "10m", "20m", "40m", "80m", "160m"],
          forbidden: null,
          created_at: now,
        },
      ],
    });
  });

  it("emulator-webhooks.enable and disable switch one webhook and reset its failures", async (t) => {
    const running = await startTestEmulator(t);
    const sink = await startReceiver(t);
    sink.respond(500);
    const id = await subscribe(running, sink.url);
    await createContract(running);
    await running.control("POST", "clock/advance", { body: { until_idle: true } });
    const listStatuses = async (path: string, method = "POST") => {
      const { body } = await running.control(method, path);
      const row = (Array.isArray(body) ? body[0] : body) as { status: string; failure_count: number };
      return [row.status, row.failure_count];
    };
    assert.deepEqual(await listStatuses("webhooks", "GET"), ["DISABLED_BY_ERROR", 6]);
    assert.deepEqual(await listStatuses(`webhooks/${id}/enable`), ["ACTIVE", 0]);
    assert.deepEqual(await listStatuses(`webhooks/${id}/disable`), ["DISABLED_BY_USER", 0]);
  });

  it("emulator-webhooks.resend sends undelivered events, oldest first, until a failure", async (t) => {
    const running = await startTestEmulator(t);
    const sink = await startReceiver(t);
    const id = await subscribe(running, sink.url);
    await running.control("POST", `webhooks/${id}/disable`);
    for (let i = 0; i < 3; i += 1) await createContract(running);
    await running.control("POST", "clock/advance", { body: { by: "PT1M" } });
    const resend = async () => {
      const { body } = await running.control("POST", `webhooks/${id}/resend`);
      const { items, remaining } = body as { items: { id: number; status_text: string }[]; remaining: number };
      return [items.map((item) => [item.id, item.status_text]), remaining];
    };
    let responseCount = 0;
    sink.respond((_, response) => {
      responseCount += 1;
      response.writeHead(responseCount === 2 ? 500 : 204).end();
    });
    assert.deepEqual(await resend(), [
      [
        [1, "delivered"],
        [2, "skipped: webhook disabled"],
      ],
      2,
    ]);
    assert.deepEqual(await resend(), [
      [
        [2, "delivered"],
        [3, "delivered"],
      ],
      0,
    ]);
    assert.deepEqual(await resend(), [[], 0]);
  });

  it("activities.list returns counts of all activities, even without a webhook", async (t) => {
    const running = await startTestEmulator(t);
    await createContract(running);
    await running.control("POST", "clock/advance", { body: { by: "PT1M" } });
    await createContract(running);
    assert.deepEqual(pickStatusAndBody(await running.control("GET", "activities")), {
      status: 200,
      body: [
        {
          workspace_id: 1,
          workspace: "Northwind Legal",
          activity: "CONTRACT_CREATED",
          count: 2,
          first_at: now,
          last_at: "2031-01-02T03:05:05.000Z",
        },
      ],
    });
  });

  it("emulator-webhooks.enable, disable and resend reject unknown webhooks (no-such-webhook)", async (t) => {
    const { control } = await startTestEmulator(t);
    for (const verb of ["enable", "disable", "resend"]) {
      assert.deepEqual(pickStatusAndBody(await control("POST", `webhooks/99/${verb}`)), {
        status: 404,
        body: {
          error: {
            code: "no_such_webhook",
            message: "Webhook 99 not found.",
            hint: "List them with `svc emulator webhooks`.",
          },
        },
      });
    }
  });
});

describe("deliveries on the control plane", () => {
  it("deliveries.list returns deliveries with their attempts and the number dropped", async (t) => {
    const running = await startTestEmulator(t);
    const sink = await startReceiver(t);
    sink.respond((_, response) => void response.writeHead(503).end("busy\n  still"));
    const id = await subscribe(running, sink.url);
    const contract = await createContract(running);
    await running.control("POST", "clock/advance", { body: { by: "PT1M" } });

    const { body } = await running.control("GET", "deliveries");
    const { items, total } = body as { items: { attempts: { duration_ms?: number }[] }[]; total: number };
    delete items[0]?.attempts[0]?.duration_ms;
    const expected = {
      id: 1,
      webhook_id: id,
      workspace_id: 1,
      activity: "CONTRACT_CREATED",
      contract_id: contract,
      composite_id: `T-${contract}`,
      webhook_status: "ACTIVE",
      outcome: "retrying",
      status_text: "retrying",
      next_attempt_at: "2031-01-02T03:09:05.000Z",
      postponement: null,
      max_attempts: 7,
      created_at: now,
      last_response: "status 503",
      attempts: [
        {
          number: 1,
          resend: false,
          scheduled_number: 1,
          planned_at: now,
          at: now,
          status: 503,
          error: null,
          fault: null,
          response: "busy still",
        },
      ],
    };
    assert.deepEqual({ items, total }, { items: [expected], total: 1 });
    for (const [query, count] of [
      [`contract=T-${contract}`, 1],
      [`contract=H-${contract}`, 0],
      [`contract=${contract}&outcome=retrying&webhook=${id}&activity=CONTRACT_CREATED`, 1],
      ["outcome=delivered", 0],
      ["limit=1&offset=1", 0],
    ] as const) {
      const found = (await running.control("GET", `deliveries?${query}`)).body as { items: unknown[] };
      assert.equal(found.items.length, count, query);
    }
    for (const query of ["outcome=lost", "limit=0", "limit=501", "offset=-1", "contract=x", "webhook=x"]) {
      assert.equal((await running.control("GET", `deliveries?${query}`)).status, 400, query);
    }
  });

  it("deliveries.show returns the sent headers, custom ones by name only", async (t) => {
    const running = await startTestEmulator(t);
    const sink = await startReceiver(t);
    await subscribe(running, sink.url, { custom_headers: { "x-secret": "s3cret" } });
    await createContract(running);
    await running.control("POST", "clock/advance", { body: { by: "PT1M" } });
    const { body } = await running.control("GET", "deliveries/1");
    const { request_headers } = body as { request_headers: Record<string, string> };
    const sent = sink.received[0]!.headers;
    assert.deepEqual(request_headers, {
      "x-secret": "",
      "content-type": sent["content-type"],
      "X-SVC-WEBHOOK-CONTENT-HASH": sent["x-svc-webhook-content-hash"],
    });
    assert.equal(sent["x-secret"], "s3cret");
  });

  it("deliveries.show returns the bodies of the request and the responses", async (t) => {
    const running = await startTestEmulator(t);
    const sink = await startReceiver(t);
    sink.respond((_, response) => void response.writeHead(200).end("thanks"));
    await subscribe(running, sink.url);
    await createContract(running);
    await running.control("POST", "clock/advance", { body: { by: "PT1M" } });
    const { status, body } = await running.control("GET", "deliveries/1");
    const { request_body, outcome, attempts } = body as Whole;
    assert.deepEqual(
      [status, outcome, request_body, attempts.map(({ url, response_body }) => [url, response_body])],
      [200, "delivered", sink.received[0]?.body.toString(), [[sink.url, "thanks"]]],
    );
  });

  it("deliveries.resend repeats the delivery and returns the outcome", async (t) => {
    const running = await startTestEmulator(t);
    const sink = await startReceiver(t);
    const id = await subscribe(running, sink.url);
    await running.control("POST", `webhooks/${id}/disable`);
    await createContract(running);
    await running.control("POST", "clock/advance", { body: { by: "PT1M" } });
    assert.equal(((await running.control("GET", "deliveries/1")).body as Whole).outcome, "skipped_disabled");

    const { status, body } = await running.control("POST", "deliveries/1/resend");
    const { outcome, attempts } = body as Whole;
    assert.deepEqual(
      [status, outcome, attempts.map(({ number, resend, status: attemptStatus }) => [number, resend, attemptStatus])],
      [200, "delivered", [[1, true, 200]]],
    );
    assert.equal(sink.received.length, 1);
  });

  it("deliveries.record stores an external delivery, which deliveries.resend repeats unchanged", async (t) => {
    const running = await startTestEmulator(t, { webhookJson: "spaced" });
    const sink = await startReceiver(t);
    const webhook = await subscribe(running, sink.url);
    const delivery = {
      webhook,
      activity: "CONTRACT_SIGNED",
      label: "signature.other-key",
      headers: { "Content-Type": "application/json", "X-SVC-WEBHOOK-CONTENT-HASH": "00" },
      body: '{"activity":"CONTRACT_SIGNED","title":"東京"}',
      status: 401,
      duration_ms: 3,
      response_body: "bad signature",
    };
    const recorded = pickStatusAndBody(await running.control("POST", "deliveries", { body: delivery }));
    const attempt = {
      number: 1,
      resend: false,
      scheduled_number: 1,
      planned_at: now,
      at: now,
      status: 401,
      error: null,
      duration_ms: 3,
      fault: null,
      response: "bad signature",
      url: sink.url,
      response_body: "bad signature",
    };
    assert.deepEqual(recorded, {
      status: 201,
      body: {
        id: 1,
        webhook_id: webhook,
        workspace_id: 1,
        activity: "CONTRACT_SIGNED",
        contract_id: null,
        composite_id: null,
        label: "signature.other-key",
        webhook_status: "ACTIVE",
        outcome: "failed",
        status_text: "failed",
        last_response: "status 401",
        next_attempt_at: null,
        postponement: null,
        max_attempts: 1,
        created_at: now,
        request_headers: delivery.headers,
        request_body: delivery.body,
        attempts: [attempt],
      },
    });
    // The service does not have to resend the delivery.
    const all = await running.control("POST", `webhooks/${webhook}/resend`);
    assert.deepEqual(all.body, { items: [], remaining: 0 });
    const { outcome, label } = (await running.control("POST", "deliveries/1/resend")).body as Record<string, unknown>;
    const [request] = sink.received;
    assert.deepEqual(
      [outcome, label, request?.body.toString(), request?.headers["x-svc-webhook-content-hash"], sink.received.length],
      ["delivered", delivery.label, delivery.body, "00", 1],
    );
  });

  it("deliveries and traces say that a recorded delivery got no response", async (t) => {
    const running = await startTestEmulator(t);
    const webhook = await subscribe(running, "http://localhost:9/hooks");
    const delivery = { webhook, activity: "CONTRACT_SIGNED", label: "x", headers: {}, body: "{}", duration_ms: 0 };
    const recorded = await running.control("POST", "deliveries", { body: { ...delivery, status: null } });
    const trace = (await running.control("GET", "traces/delivery:1")).body as { nodes: readonly { what: string }[] };
    assert.deepEqual(
      [(recorded.body as { last_response: string }).last_response, trace.nodes.at(-1)?.what],
      ["no response", "attempt 1: no response"],
    );
  });

  it("deliveries.record rejects an unknown webhook (no-such-webhook) and connection headers", async (t) => {
    const running = await startTestEmulator(t);
    const delivery = { webhook: 7, activity: "CONTRACT_SIGNED", label: "x", body: "{}", status: null, duration_ms: 0 };
    const missing = await running.control("POST", "deliveries", { body: { ...delivery, headers: {} } });
    const foreign = await running.control("POST", "deliveries", { body: { ...delivery, headers: { Host: "x" } } });
    assert.deepEqual([missing.status, foreign.status], [404, 400]);
  });

  it("deliveries.show and deliveries.resend reject unknown deliveries (no-such-delivery)", async (t) => {
    const { control } = await startTestEmulator(t);
    const rejection = {
      status: 404,
      body: {
        error: {
          code: "no_such_delivery",
          message: "Delivery 7 not found.",
          hint: "List them with `svc emulator deliveries`.",
        },
      },
    };
    assert.deepEqual(pickStatusAndBody(await control("GET", "deliveries/7")), rejection);
    assert.deepEqual(pickStatusAndBody(await control("POST", "deliveries/7/resend")), rejection);
  });

  it("deliveries.resend rejects a deleted webhook (webhook-deleted)", async (t) => {
    const running = await startTestEmulator(t);
    const sink = await startReceiver(t);
    const id = await subscribe(running, sink.url);
    await createContract(running);
    await running.control("POST", "clock/advance", { body: { by: "PT1M" } });
    await running.api("DELETE", `/api/v2.1/public/webhooks/${id}`);
    assert.deepEqual(pickStatusAndBody(await running.control("POST", "deliveries/1/resend")), {
      status: 409,
      body: { error: { code: "webhook_deleted", message: `Cannot resend: webhook ${id} is deleted.` } },
    });
    assert.equal(sink.received.length, 1);
  });
});

interface Whole {
  readonly outcome: string;
  readonly request_body: string;
  readonly attempts: readonly {
    readonly number: number;
    readonly resend: boolean;
    readonly status: number;
    readonly url: string;
    readonly response_body: string;
  }[];
}

async function subscribe({ api }: TestEmulator, url: string, overrides: object = {}): Promise<number> {
  const body = { title: "Hooks", url, only_for_activities: ["CONTRACT_CREATED"], ...overrides };
  const response = await api("POST", "/api/v2.1/public/webhooks/", { body });
  assert.equal(response.status, 201, JSON.stringify(response.body));
  return (response.body as { id: number }).id;
}

/** Creates a contract, which emits CONTRACT_CREATED, and returns its number. */
async function createContract({ api }: TestEmulator): Promise<number> {
  const body = { contract_template_id: 101, contract_name: "Lease", contract_data: {}, counter_party_details: [] };
  const response = await api("POST", "/api/v2.1/public/contracts/", { body });
  assert.equal(response.status, 201, JSON.stringify(response.body));
  return Number((response.body as { id: string }).id.replace(/^T-/, ""));
}
