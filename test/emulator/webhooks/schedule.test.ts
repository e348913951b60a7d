import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setWebhookEnabled } from "../../../emulator/webhooks/webhooks.ts";
import { startReceiver } from "../../support/receiver.ts";
import { createDeliveryFixture, toMilliseconds } from "../../support/webhooks.ts";

const failedAttempts = ["+0 500", "+5 500", "+15 500", "+35 500", "+75 500", "+155 500"];

describe("retry schedule", () => {
  it("disables a failing webhook after six attempts and skips the seventh", async (t) => {
    const { subscribe, happen, runner, story, subscription } = await createDeliveryFixture(t);
    const sink = await startReceiver(t);
    sink.respond(500);
    const id = await subscribe(sink.url);

    await happen("CONTRACT_CREATED");
    await runner.advance({ by: toMilliseconds(155) });

    assert.deepEqual(await story(), [{ webhook: id, outcome: "retrying", attempts: failedAttempts }]);
    assert.deepEqual(await subscription(id), { status: "DISABLED_BY_ERROR", failure_count: 6 });

    const { ran, status, pending } = await runner.advance({ untilIdle: true });
    assert.deepEqual(
      { ran: ran.map(({ kind, outcome }) => ({ kind, outcome })), status, pending },
      { ran: [{ kind: "deliver", outcome: "skipped_disabled" }], status: "done", pending: 0 },
    );
    assert.deepEqual(await story(), [{ webhook: id, outcome: "skipped_disabled", attempts: failedAttempts }]);
    assert.equal(sink.received.length, 6);
  });

  it("counts failures per webhook across concurrent events", async (t) => {
    const { subscribe, happen, runner, story, subscription } = await createDeliveryFixture(t);
    const sink = await startReceiver(t);
    sink.respond(500);
    const id = await subscribe(sink.url);

    await happen("CONTRACT_CREATED", "CONTRACT_SIGNED");
    await runner.advance({ by: toMilliseconds(14) });
    assert.deepEqual(await subscription(id), { status: "ACTIVE", failure_count: 4 });
    await runner.advance({ by: toMilliseconds(1) });
    assert.deepEqual(await subscription(id), { status: "DISABLED_BY_ERROR", failure_count: 6 });
    await runner.advance({ untilIdle: true });

    const attempts = failedAttempts.slice(0, 3);
    assert.deepEqual(await story(), [
      { webhook: id, outcome: "skipped_disabled", attempts },
      { webhook: id, outcome: "skipped_disabled", attempts },
    ]);
  });

  it("disables a webhook immediately after six events and skips the seventh", async (t) => {
    const { subscribe, happen, runner, story } = await createDeliveryFixture(t);
    const sink = await startReceiver(t);
    // No request gets a response before all six have arrived, so that all run together.
    const heldResponses: (() => void)[] = [];
    sink.respond((_, response) => {
      heldResponses.push(() => response.writeHead(500).end());
      if (heldResponses.length === 6) for (const respond of heldResponses) respond();
    });
    const id = await subscribe(sink.url);

    await happen(...Array.from({ length: 7 }, () => "CONTRACT_CREATED" as const));
    await runner.waitUntilIdle();

    assert.equal(sink.received.length, 6);
    assert.deepEqual(await story(), [
      ...Array.from({ length: 6 }, () => ({ webhook: id, outcome: "retrying", attempts: ["+0 500"] })),
      { webhook: id, outcome: "skipped_disabled", attempts: [] },
    ]);
  });

  it("limits concurrent attempts to six minus the failure counter", async (t) => {
    const { subscribe, happen, runner } = await createDeliveryFixture(t);
    const sink = await startReceiver(t);
    let open = 0;
    let maxOpen = 0;
    const heldResponses: (() => void)[] = [];
    sink.respond((_, response) => {
      open += 1;
      maxOpen = Math.max(maxOpen, open);
      heldResponses.push(() => {
        open -= 1;
        response.writeHead(204).end();
      });
      // The first two wait for each other, and for any other one.
      if (sink.received.length >= 2)
        setImmediate(() => {
          for (const respond of heldResponses.splice(0)) respond();
        });
    });
    await subscribe(sink.url, { failure_count: 4 });

    await happen("CONTRACT_CREATED", "CONTRACT_SIGNED", "CONTRACT_EXECUTED");
    await runner.waitUntilIdle();
    assert.deepEqual({ most: maxOpen, received: sink.received.length }, { most: 2, received: 3 });
  });

  it("resets the counter after any 2xx", async (t) => {
    const { subscribe, happen, runner, story, subscription } = await createDeliveryFixture(t);
    const sink = await startReceiver(t);
    sink.respond(500);
    const id = await subscribe(sink.url);

    await happen("CONTRACT_CREATED");
    await runner.advance({ by: toMilliseconds(35) });
    assert.deepEqual(await subscription(id), { status: "ACTIVE", failure_count: 4 });
    sink.respond(202);
    await happen("CONTRACT_SIGNED");
    await runner.waitUntilIdle();
    assert.deepEqual(await subscription(id), { status: "ACTIVE", failure_count: 0 });
    sink.respond(500);
    await runner.advance({ untilIdle: true });

    assert.deepEqual(await story(), [
      // Seven attempts: the counter was 3 when the schedule ended.
      { webhook: id, outcome: "failed", attempts: [...failedAttempts, "+315 500"] },
      { webhook: id, outcome: "delivered", attempts: ["+35 202"] },
    ]);
    assert.deepEqual(await subscription(id), { status: "ACTIVE", failure_count: 3 });
  });

  it("rounds attempts up to the next whole minute with the worker tick", async (t) => {
    const { subscribe, happen, runner, story } = await createDeliveryFixture(t, { settings: { workerTick: true } });
    const sink = await startReceiver(t);
    sink.respond(500);
    const id = await subscribe(sink.url);

    await happen("CONTRACT_CREATED");
    await runner.advance({ by: toMilliseconds(16) });
    // It started at 03:04:05: 03:09:05 becomes 03:10, and ten minutes later is a whole minute.
    const delayMinutes = 55 / 60;
    assert.deepEqual(await story(), [
      {
        webhook: id,
        outcome: "retrying",
        attempts: ["+0 500", `+${5 + delayMinutes} 500`, `+${15 + delayMinutes} 500`],
      },
    ]);
  });

  it("continues after the webhook is enabled, without resending skipped events", async (t) => {
    const { subscribe, happen, runner, story, store, subscription, clock } = await createDeliveryFixture(t);
    const sink = await startReceiver(t);
    sink.respond(500);
    const id = await subscribe(sink.url);
    const turn = (isEnabled: boolean) =>
      store.transaction("switch", (tx) => setWebhookEnabled(tx, id, isEnabled, clock.now()));

    await happen("CONTRACT_CREATED");
    await runner.waitUntilIdle();
    await turn(false);
    await happen("CONTRACT_SIGNED");
    await runner.waitUntilIdle();
    await turn(true);
    sink.respond(200);
    await runner.advance({ untilIdle: true });

    assert.deepEqual(await story(), [
      { webhook: id, outcome: "delivered", attempts: ["+0 500", "+5 200"] },
      { webhook: id, outcome: "skipped_disabled", attempts: [] },
    ]);
    assert.deepEqual(await subscription(id), { status: "ACTIVE", failure_count: 0 });
  });

  it("does not delay a healthy receiver because of a failing one", async (t) => {
    const { subscribe, happen, runner, story } = await createDeliveryFixture(t);
    const hanging = await startReceiver(t);
    const heldResponses: (() => void)[] = [];
    hanging.respond((_, response) => void heldResponses.push(() => response.writeHead(500).end()));
    const healthy = await startReceiver(t);
    const dead = await subscribe(hanging.url);
    const well = await subscribe(healthy.url);

    const attemptReceived = new Promise<void>((resolve) =>
      healthy.respond((_, response) => {
        response.writeHead(200).end();
        if (healthy.received.length === 8) resolve();
      }),
    );
    await happen(...Array.from({ length: 8 }, () => "CONTRACT_CREATED" as const));
    await attemptReceived;
    assert.deepEqual({ held: heldResponses.length, healthy: healthy.received.length }, { held: 6, healthy: 8 });

    for (const respond of heldResponses) respond();
    await runner.waitUntilIdle();
    const outcomes = (await story()).map(({ webhook, outcome }) => `${webhook} ${outcome}`);
    assert.deepEqual(outcomes.filter((line) => line === `${well} delivered`).length, 8);
    assert.deepEqual(outcomes.filter((line) => line === `${dead} retrying`).length, 6);
  });

  it("does not delay a healthy receiver because of several that hang", async (t) => {
    const { subscribe, happen, runner, story } = await createDeliveryFixture(t);
    const hanging = await startReceiver(t);
    const heldResponses: (() => void)[] = [];
    hanging.respond((_, response) => void heldResponses.push(() => response.writeHead(200).end()));
    for (let i = 0; i < 12; i += 1) await subscribe(hanging.url);
    await happen(...Array.from({ length: 6 }, () => "CONTRACT_CREATED" as const));

    const healthy = await startReceiver(t);
    const well = await subscribe(healthy.url);
    const attemptReceived = new Promise<void>((resolve) =>
      healthy.respond((_, response) => {
        response.writeHead(200).end();
        if (healthy.received.length === 8) resolve();
      }),
    );
    await happen(...Array.from({ length: 8 }, () => "CONTRACT_CREATED" as const));
    await attemptReceived;
    assert.ok(heldResponses.length < 64, `${heldResponses.length} hang`);

    hanging.respond(200);
    for (const respond of heldResponses) respond();
    await runner.waitUntilIdle();
    const delivered = (await story()).filter(({ outcome }) => outcome === "delivered");
    assert.deepEqual([delivered.length, delivered.filter(({ webhook }) => webhook === well).length], [12 * 14 + 8, 8]);
  });
});
