import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pickStatusAndBody, startTestEmulator, type TestResponse } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";

describe("clock on the control plane", () => {
  it("clock.show returns the time and the next due entry", async (t) => {
    const { control } = await startTestEmulator(t);
    assert.deepEqual(pickStatusAndBody(await control("GET", "clock")), {
      status: 200,
      body: { now: "2031-01-02T03:04:05.000Z", mode: "manual", speed: 1, next_due: null, pending: 0 },
    });
  });

  it("clock.set changes mode and speed", async (t) => {
    const { control } = await startTestEmulator(t);
    const response = await control("PUT", "clock", { body: { mode: "auto", speed: 60 } });
    assert.deepEqual(pickStatusAndBody(response), {
      status: 200,
      body: { now: "2031-01-02T03:04:05.000Z", mode: "auto", speed: 60, next_due: null, pending: 0 },
    });
  });

  it("clock.set rejects an empty and an invalid request", async (t) => {
    const { control } = await startTestEmulator(t);
    for (const body of [{}, { speed: 0 }, { speed: -1 }, { mode: "fast" }]) {
      assert.equal((await control("PUT", "clock", { body })).status, 400, JSON.stringify(body));
    }
    assert.equal(((await control("GET", "clock")).body as { mode: string }).mode, "manual");
  });

  it("clock.advance accepts a duration, a time, the next entry, or an empty queue", async (t) => {
    const { control, api } = await startTestEmulator(t);
    const sink = await startReceiver(t);
    sink.respond(500);
    await subscribe(api, sink.url);
    await createContract(api);
    const advance = async (body: unknown) => (await control("POST", "clock/advance", { body })).body;
    const ran = (at: string, outcome: string, status_text = outcome) => ({
      at: `2031-01-02T${at}.000Z`,
      kind: "deliver",
      ref: "1",
      outcome,
      status_text,
    });

    assert.deepEqual(await advance({ by: "PT6M" }), {
      from: "2031-01-02T03:04:05.000Z",
      to: "2031-01-02T03:10:05.000Z",
      ran: [ran("03:09:05", "retrying")],
      next_due: "2031-01-02T03:19:05.000Z",
      pending: 1,
      status: "done",
    });
    assert.deepEqual(await advance({ next: true }), {
      from: "2031-01-02T03:10:05.000Z",
      to: "2031-01-02T03:19:05.000Z",
      ran: [ran("03:19:05", "retrying")],
      next_due: "2031-01-02T03:39:05.000Z",
      pending: 1,
      status: "done",
    });
    assert.deepEqual(await advance({ to: "2031-01-02T04:20:00+01:00" }), {
      from: "2031-01-02T03:19:05.000Z",
      to: "2031-01-02T03:20:00.000Z",
      ran: [],
      next_due: "2031-01-02T03:39:05.000Z",
      pending: 1,
      status: "done",
    });
    const { to, ran: rest, pending } = (await advance({ until_idle: true })) as Record<string, unknown>;
    assert.deepEqual(
      [to, rest, pending],
      [
        "2031-01-02T08:19:05.000Z",
        [
          ran("03:39:05", "retrying"),
          ran("04:19:05", "retrying"),
          ran("05:39:05", "retrying"),
          ran("08:19:05", "skipped_disabled", "skipped: webhook disabled"),
        ],
        0,
      ],
    );
  });

  it("clock.advance rejects a target after the year 9999 (time-out-of-range) without moving", async (t) => {
    const emulator = await startTestEmulator(t);
    const outOfRange = { error: { code: "time_out_of_range", message: "Virtual time ends with the year 9999." } };
    for (const duration of ["7833w8140d1668852458405529h", "500000w"]) {
      assert.deepEqual(pickStatusAndBody(await emulator.control("POST", "clock/advance", { body: { by: duration } })), {
        status: 400,
        body: outOfRange,
      });
    }
    assert.equal(((await emulator.control("GET", "clock")).body as { now: string }).now, "2031-01-02T03:04:05.000Z");
  });

  it("clock.advance runs due entries only up to the year 9999", async (t) => {
    const emulator = await startTestEmulator(t);
    const body = { title: "x", url: "http://127.0.0.1:9/hooks", only_for_activities: ["CONTRACT_CREATED"] };
    await emulator.api("POST", "/api/v2.1/public/webhooks/", { body });
    await emulator.control("POST", "clock/advance", { body: { to: "9999-12-31T23:59:00Z" } });
    await emulator.control("POST", "activities", { body: { activity: "CONTRACT_CREATED", wait: true } });
    const end = { from: "9999-12-31T23:59:00.000Z", to: "9999-12-31T23:59:00.000Z", ran: [] };
    for (const target of [{ next: true }, { until_idle: true }]) {
      const { next_due: _, ...moved } = (await emulator.control("POST", "clock/advance", { body: target })).body as {
        next_due: string;
      };
      assert.deepEqual(moved, { ...end, pending: 1, status: "done" });
    }
    await emulator.control("POST", "clock", { body: { mode: "real", speed: 1_000_000 } });
    const { now } = (await emulator.control("GET", "clock")).body as { now: string };
    assert.match(now, /^9999-12-31T23:59:/);
  });

  it("clock.advance rejects a target in the past (time-in-past)", async (t) => {
    const { control } = await startTestEmulator(t);
    assert.deepEqual(
      pickStatusAndBody(await control("POST", "clock/advance", { body: { to: "2031-01-02T03:04:05Z" } })),
      {
        status: 400,
        body: {
          error: {
            code: "time_in_past",
            message: "Virtual time is already 2031-01-02T03:04:05.000Z and cannot go backwards.",
            hint: "Choose a time after it. To go back, run `svc emulator rewind`; to start again, `svc emulator reset`.",
          },
        },
      },
    );
  });

  it("clock.advance does not wait for a receiver that advances the clock itself", async (t) => {
    const { control, api, clock } = await startTestEmulator(t);
    const sink = await startReceiver(t);
    const advanced = new Promise<TestResponse>((resolve) =>
      sink.respond(async (_, response) => {
        await assert.rejects(clock.advance({ by: "PT1M" }), {
          name: "DeliveryUnderWayError",
          message: "A receiver has not responded to a webhook for 1 s. The clock was not advanced",
        });
        const result = await control("POST", "clock/advance", { body: { by: "PT1M" } });
        response.writeHead(200).end();
        resolve(result);
      }),
    );
    await subscribe(api, sink.url);
    await createContract(api);
    assert.deepEqual(pickStatusAndBody(await advanced), {
      status: 409,
      body: {
        error: {
          code: "delivery_in_progress",
          message: "A receiver has not responded to a webhook for 1 s. The clock was not advanced.",
          hint:
            "Try again once it has responded or timed out (SVC_WEBHOOK_TIMEOUT, 60s by default). A receiver that " +
            "advances the clock must respond first. `svc webhooks schedule` lists its delivery first.",
        },
      },
    });
    const { body } = await control("POST", "clock/advance", { body: { by: "PT1M" } });
    assert.deepEqual((body as { from: string; to: string }).to, "2031-01-02T03:05:05.000Z");
    const { items } = (await control("GET", "deliveries")).body as { items: readonly { outcome: string }[] };
    assert.deepEqual(
      items.map(({ outcome }) => outcome),
      ["delivered"],
    );
  });

  it("clock.advance and clock.set reject a concurrent advance (advance-in-progress)", async (t) => {
    const { control, api } = await startTestEmulator(t);
    const sink = await startReceiver(t);
    let release = () => {};
    const requestHeld = new Promise<void>((resolve) =>
      sink.respond((_, response) => {
        release = () => void response.writeHead(200).end();
        resolve();
      }),
    );
    await subscribe(api, sink.url);
    await createContract(api);
    await requestHeld;
    const first = control("POST", "clock/advance", { body: { by: "PT1M" } });
    const rejection = {
      status: 409,
      body: {
        error: {
          code: "advance_in_progress",
          message: "Another request is advancing the clock.",
          hint: "Wait until it completes, then try again.",
        },
      },
    };
    // Both requests run concurrently in an order that the emulator determines.
    const second = control("POST", "clock/advance", { body: { by: "PT1M" } });
    const loser = await Promise.race([first, second]);
    assert.deepEqual(pickStatusAndBody(loser), rejection);
    assert.deepEqual(pickStatusAndBody(await control("PUT", "clock", { body: { mode: "real" } })), rejection);
    release();
    const statuses = (await Promise.all([first, second])).map(({ status }) => status).sort();
    assert.deepEqual(statuses, [200, 409]);
  });

  it("clock.advance explains an invalid target", async (t) => {
    const { control } = await startTestEmulator(t);
    for (const [body, message] of [
      [{}, "exactly one of by, to, next and until_idle is required"],
      [{ by: "PT1M", next: true }, "exactly one of by, to, next and until_idle is required"],
      [{ by: "soon" }, "must be a duration (PT2H35M, 2h35m)"],
      [{ by: "PT0S" }, "must be longer than 0"],
      // ISO 8601 requires a number after T.
      [{ by: "P1DT" }, "must be a duration (PT2H35M, 2h35m)"],
    ] as const) {
      const { status, body: errorBody } = await control("POST", "clock/advance", { body });
      const { error } = errorBody as { error: { code: string; message: string } };
      assert.deepEqual([status, error.code], [400, "invalid_input"]);
      assert.ok(error.message.includes(message), error.message);
    }
    assert.equal((await control("POST", "clock/advance", { body: { to: "yesterday" } })).status, 400);
  });
});

type Ask = Awaited<ReturnType<typeof startTestEmulator>>["control"];

async function subscribe(api: Ask, url: string): Promise<void> {
  const body = { title: "Hooks", url, only_for_activities: ["CONTRACT_CREATED"] };
  assert.equal((await api("POST", "/api/v2.1/public/webhooks/", { body })).status, 201);
}

/** Creates a contract, which emits CONTRACT_CREATED. */
async function createContract(api: Ask): Promise<void> {
  const body = { contract_template_id: 101, contract_name: "Lease", contract_data: {}, counter_party_details: [] };
  const { status, body: responseBody } = await api("POST", "/api/v2.1/public/contracts/", { body });
  assert.equal(status, 201, JSON.stringify(responseBody));
}
