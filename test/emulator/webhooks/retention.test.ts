import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defaultSettings } from "../../../emulator/domain/settings.ts";
import type { PendingAttempt } from "../../../emulator/faults/faults.ts";
import type { WebhookSender } from "../../../emulator/http/outgoing/webhook-sender.ts";
import type { Store } from "../../../emulator/store/port.ts";
import { createDeliveryJobHandlers } from "../../../emulator/webhooks/deliver.ts";
import { attempts, deliveries, webhookEvents } from "../../../emulator/webhooks/deliveries.ts";
import { deleteExpiredRecords } from "../../../emulator/webhooks/log.ts";
import { systemWallClock } from "../../../src/base/clock.ts";
import { startReceiver } from "../../support/receiver.ts";
import { createDeliveryFixture, toMilliseconds } from "../../support/webhooks.ts";

const daysToMs = (count: number): number => toMilliseconds(count * 24 * 60);

const listIds = (store: Store) => ({
  deliveries: store.list(deliveries).map(({ id }) => id),
  attempts: store.list(attempts).map(({ delivery_id, number }) => `${delivery_id}/${number}`),
  events: store.list(webhookEvents).map(({ id }) => id),
});

describe("removal of expired records", () => {
  it("removes a few records with each attempt", async (t) => {
    const office = await createDeliveryFixture(t);
    const sink = await startReceiver(t);
    await office.subscribe(sink.url);
    await office.happen(...Array.from({ length: 60 }, () => "CONTRACT_CREATED" as const));
    // No webhook receives this one.
    await office.happen("CONTRACT_VOIDED");
    await office.runner.waitUntilIdle();
    const attempt = async (byMs: number) => {
      if (byMs > 0) await office.runner.advance({ by: byMs });
      await office.happen("CONTRACT_SIGNED");
      await office.runner.waitUntilIdle();
      return listIds(office.store);
    };
    await attempt(daysToMs(30) - 1);
    assert.equal((await listIds(office.store)).deliveries.length, 61);
    // Fifty records expire per virtual time, however many attempts it has, and the others at the next one.
    assert.deepEqual((await attempt(1)).deliveries, [...Array.from({ length: 10 }, (_, i) => 51 + i), 61, 62]);
    assert.deepEqual((await attempt(0)).deliveries, [...Array.from({ length: 10 }, (_, i) => 51 + i), 61, 62, 63]);
    // The event without webhooks is kept for longer.
    assert.deepEqual(await attempt(1), {
      deliveries: [61, 62, 63, 64],
      attempts: ["61/1", "62/1", "63/1", "64/1"],
      events: [61, 62, 63, 64, 65],
    });
    assert.deepEqual(await attempt(daysToMs(60)), { deliveries: [65], attempts: ["65/1"], events: [66] });
  });

  it("removes all expired records before the log is read", async (t) => {
    const office = await createDeliveryFixture(t);
    const sink = await startReceiver(t);
    for (let i = 0; i < 3; i += 1) await office.subscribe(sink.url);
    await office.happen(...Array.from({ length: 400 }, () => "CONTRACT_CREATED" as const));
    await office.runner.waitUntilIdle();
    // One delivery of the first event is retained 1 ms longer than the others.
    await office.store.transaction("keep", (tx) => {
      const delivery = tx.get(deliveries, 2);
      tx.put(deliveries, { ...delivery!, keep_until: delivery!.keep_until! + 1 });
    });
    const now = office.clock.now() + daysToMs(30);
    await deleteExpiredRecords(office.store, now);
    assert.deepEqual(await listIds(office.store), { deliveries: [2], attempts: ["2/1"], events: [1] });
    await deleteExpiredRecords(office.store, now + 1);
    assert.deepEqual(await listIds(office.store), { deliveries: [], attempts: [], events: [] });
  });
});

describe("fault script", () => {
  it("receives the number of a scheduled attempt", async (t) => {
    const attempts: PendingAttempt[] = [];
    const office = await createDeliveryFixture(t, { intervene: (about) => void attempts.push(about) });
    const sink = await startReceiver(t);
    sink.respond(500);
    const id = await office.subscribe(sink.url);
    await office.happen("CONTRACT_CREATED");
    await office.runner.advance({ by: toMilliseconds(5) });
    assert.deepEqual(
      attempts.map(({ delivery, scheduledNumber, event, webhook }) => [
        delivery.id,
        scheduledNumber,
        event.activity,
        event.contract_id,
        webhook.id,
        webhook.url,
      ]),
      [
        [1, 1, "CONTRACT_CREATED", 17, id, sink.url],
        [1, 2, "CONTRACT_CREATED", 17, id, sink.url],
      ],
    );
  });
});

describe("closing emulator", () => {
  it("aborts all running attempts immediately", async (t) => {
    const office = await createDeliveryFixture(t);
    const id = await office.subscribe("http://127.0.0.1:1/");
    await office.runner.close();
    await office.happen("CONTRACT_CREATED", "CONTRACT_SIGNED");
    let brokenOff = 0;
    const outgoing: WebhookSender = {
      findForbiddenReason: () => undefined,
      post: async () => ({ status: 200, body: Buffer.alloc(0) }),
      abort: () => {
        brokenOff += 1;
      },
      close: async () => {},
    };
    const { clock, store } = office;
    const { deliver } = createDeliveryJobHandlers({
      clock,
      wall: systemWallClock,
      settings: defaultSettings,
      outgoing,
    });
    const entries = [1, 2].map((n) => ({
      id: n,
      due: clock.now(),
      kind: "deliver",
      concurrency_key: `webhook:${id}`,
      workspace_id: 1,
      ref: `${n}`,
      cause: null,
    }));
    const closing = new AbortController();
    await Promise.all(entries.map((entry) => deliver.start(store, entry, closing.signal)));
    assert.equal(brokenOff, 0);
    closing.abort();
    assert.equal(brokenOff, 1);
  });
});
