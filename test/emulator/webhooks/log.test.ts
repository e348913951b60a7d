import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Store } from "../../../emulator/store/port.ts";
import { attempts, deliveries, webhookEvents } from "../../../emulator/webhooks/deliveries.ts";
import {
  deleteExpiredRecords,
  listDeliveries,
  listLatestDeliveries,
  scheduleResend,
  showDelivery,
} from "../../../emulator/webhooks/log.ts";
import { setWebhookEnabled, webhookRows } from "../../../emulator/webhooks/webhooks.ts";
import { startReceiver } from "../../support/receiver.ts";
import { createDeliveryFixture, type DeliveryFixture, toMilliseconds } from "../../support/webhooks.ts";

const daysToMs = (count: number): number => toMilliseconds(count * 24 * 60);

/** Resends a delivery and waits for its outcome. */
async function resendDelivery({ store, clock, runner }: DeliveryFixture, id: number): Promise<string> {
  const { outcome } = await store.transaction("again", (tx) => {
    const delivery = tx.get(deliveries, id);
    return { outcome: runner.waitForOutcome(scheduleResend(tx, delivery!, clock.now()).id) };
  });
  return outcome;
}

const countRows = (store: Store) => ({
  deliveries: store.count(deliveries),
  attempts: store.count(attempts),
  events: store.count(webhookEvents),
});

describe("resend of a delivery", () => {
  it("makes one attempt outside the schedule, whose success ends the delivery", async (t) => {
    const office = await createDeliveryFixture(t);
    const sink = await startReceiver(t);
    sink.respond(500);
    const id = await office.subscribe(sink.url);
    await office.happen("CONTRACT_CREATED");
    await office.runner.advance({ by: toMilliseconds(1) });

    assert.equal(await resendDelivery(office, 1), "retrying");
    assert.deepEqual(await office.subscription(id), { status: "ACTIVE", failure_count: 2 });
    sink.respond(200);
    assert.equal(await resendDelivery(office, 1), "delivered");
    assert.deepEqual(await office.story(), [
      { webhook: id, outcome: "delivered", attempts: ["+0 500", "+1 500", "+1 200"] },
    ]);
    const { ran } = await office.runner.advance({ untilIdle: true });
    assert.deepEqual([ran, sink.received.length], [[], 3]);
  });

  it("does not change the schedule on failure", async (t) => {
    const office = await createDeliveryFixture(t);
    const sink = await startReceiver(t);
    sink.respond(500);
    await office.subscribe(sink.url);
    await office.happen("CONTRACT_CREATED");
    await office.runner.advance({ by: toMilliseconds(1) });
    await resendDelivery(office, 1);
    await office.runner.advance({ by: toMilliseconds(14) });
    assert.deepEqual(
      (await office.story()).map(({ attempts: made }) => made),
      [["+0 500", "+1 500", "+5 500", "+15 500"]],
    );
  });

  it("resets the failure counter of a disabled webhook without enabling it", async (t) => {
    const office = await createDeliveryFixture(t);
    const sink = await startReceiver(t);
    const id = await office.subscribe(sink.url, { status: "DISABLED_BY_ERROR", failure_count: 6 });
    await office.happen("CONTRACT_CREATED");
    await office.runner.waitUntilIdle();
    assert.equal(sink.received.length, 0);
    assert.equal(await resendDelivery(office, 1), "delivered");
    assert.deepEqual(await office.subscription(id), { status: "DISABLED_BY_ERROR", failure_count: 0 });
  });

  it("disables the webhook at the sixth failure", async (t) => {
    const office = await createDeliveryFixture(t);
    const sink = await startReceiver(t);
    sink.respond(500);
    const id = await office.subscribe(sink.url, { failure_count: 5 });
    await office.store.transaction("off", (tx) => setWebhookEnabled(tx, id, false, office.clock.now()));
    await office.happen("CONTRACT_CREATED");
    await office.runner.waitUntilIdle();
    await office.store.transaction("on", (tx) => {
      const row = tx.get(webhookRows, id);
      tx.put(webhookRows, { ...row!, status: "ACTIVE", failure_count: 5 });
    });
    assert.equal(await resendDelivery(office, 1), "skipped_disabled");
    assert.deepEqual(await office.subscription(id), { status: "DISABLED_BY_ERROR", failure_count: 6 });
  });

  it("does not change the delivery if it cannot be sent", async (t) => {
    const office = await createDeliveryFixture(t);
    const sink = await startReceiver(t);
    const id = await office.subscribe(sink.url);
    await office.happen("CONTRACT_CREATED");
    await office.runner.waitUntilIdle();
    await office.store.transaction("delete", (tx) => tx.delete(webhookRows, id));
    assert.equal(await resendDelivery(office, 1), "skipped_deleted");
    assert.deepEqual(await office.story(), [{ webhook: id, outcome: "delivered", attempts: ["+0 200"] }]);
  });

  it("uses the latest delivery of each contract to a webhook that exists", async (t) => {
    const office = await createDeliveryFixture(t);
    const sink = await startReceiver(t);
    await office.subscribe(sink.url);
    const deletedId = await office.subscribe(sink.url);
    await office.happen("CONTRACT_CREATED", "CONTRACT_SIGNED");
    await office.store.transaction("delete", (tx) => tx.delete(webhookRows, deletedId));
    const found = listLatestDeliveries(office.store, 1, [17, 18, 17]);
    assert.deepEqual(
      found.map(({ activity, webhook_id }) => ({ activity, webhook_id })),
      [{ activity: "CONTRACT_SIGNED", webhook_id: 1 }],
    );
    assert.deepEqual(listLatestDeliveries(office.store, 2, [17]), []);
  });
});

describe("delivery log", () => {
  it("lists the matches of every filter, newest first in pages", async (t) => {
    const office = await createDeliveryFixture(t);
    const good = await startReceiver(t);
    const bad = await startReceiver(t);
    bad.respond(500);
    const webhookId = await office.subscribe(good.url);
    const two = await office.subscribe(bad.url, { only_for_activities: ["CONTRACT_SIGNED"] });
    await office.happen("CONTRACT_CREATED", "CONTRACT_SIGNED", "CONTRACT_SIGNED");
    await office.runner.waitUntilIdle();

    const ids = (filter: Parameters<typeof listDeliveries>[1], offset = 0, limit = 10) => {
      const { rows, total } = listDeliveries(office.store, filter, { offset, limit });
      return [total, ...rows.map(({ id }) => id)];
    };
    assert.deepEqual(await ids({}), [5, 5, 4, 3, 2, 1]);
    assert.deepEqual(await ids({}, 1, 2), [5, 4, 3]);
    assert.deepEqual(await ids({ webhook_id: two }), [2, 5, 3]);
    assert.deepEqual(await ids({ outcome: "delivered", activity: "CONTRACT_SIGNED" }), [2, 4, 2]);
    assert.deepEqual(await ids({ webhook_id: webhookId, outcome: "retrying" }), [0]);
    assert.deepEqual(await ids({ contract_id: 17, workspace_id: 1 }, 4), [5, 1]);
    assert.deepEqual(await ids({ workspace_id: 2 }), [0]);
  });

  it("returns the sent body and the response", async (t) => {
    const office = await createDeliveryFixture(t);
    const sink = await startReceiver(t);
    sink.respond((_, response) => void response.writeHead(418).end("no coffee"));
    await office.subscribe(sink.url);
    await office.happen("CONTRACT_CREATED");
    await office.runner.waitUntilIdle();
    const details = showDelivery(office.store, 1);
    assert.equal(details?.requestBody, sink.received[0]?.body.toString());
    const [{ duration_ms, wall_at, ...attempt } = { duration_ms: -1, wall_at: null }] = details?.attempts ?? [];
    assert.deepEqual(attempt, {
      delivery_id: 1,
      number: 1,
      resend: false,
      scheduled_number: 1,
      planned_at: office.clock.now(),
      at: office.clock.now(),
      url: sink.url,
      status: 418,
      error: null,
      response_body: "no coffee",
      cause: null,
      moved_by: null,
      fault: null,
    });
    assert.ok(duration_ms >= 0 && Number.isInteger(wall_at));
    assert.equal(showDelivery(office.store, 2), undefined);
  });

  it("retains delivered records for 30 days, and failed and skipped ones for 90", async (t) => {
    const office = await createDeliveryFixture(t);
    const good = await startReceiver(t);
    const bad = await startReceiver(t);
    bad.respond(500);
    await office.subscribe(good.url);
    await office.subscribe(bad.url, { failure_count: 5 });
    await office.happen("CONTRACT_CREATED");
    // No webhook receives this event, but clients may wait for the activity.
    await office.happen("CONTRACT_VOIDED");
    // The dead one is skipped after five minutes, and nothing is queued for the expiry.
    const { to } = await office.runner.advance({ untilIdle: true });
    const countRowsAt = async (ms: number) => {
      await office.runner.advance({ to: ms });
      await deleteExpiredRecords(office.store, office.clock.now());
      return countRows(office.store);
    };
    const from = to - toMilliseconds(5);
    assert.deepEqual(await countRowsAt(from + daysToMs(30) - 1), { deliveries: 2, attempts: 2, events: 2 });
    assert.deepEqual(await countRowsAt(from + daysToMs(30)), { deliveries: 1, attempts: 1, events: 2 });
    assert.deepEqual(await countRowsAt(to + daysToMs(90) - 1), { deliveries: 1, attempts: 1, events: 2 });
    assert.deepEqual(await countRowsAt(to + daysToMs(90)), { deliveries: 0, attempts: 0, events: 0 });
  });

  it("retains an ended delivery from its last attempt, also from a failed resend", async (t) => {
    const office = await createDeliveryFixture(t);
    const sink = await startReceiver(t);
    sink.respond(500);
    await office.subscribe(sink.url, { failure_count: 5 });
    await office.happen("CONTRACT_CREATED");
    const { to: skippedAt } = await office.runner.advance({ untilIdle: true });
    const resentAt = skippedAt + daysToMs(89);
    await office.runner.advance({ to: resentAt });
    assert.equal(await resendDelivery(office, 1), "skipped_disabled");

    for (const [time, count] of [
      [resentAt + daysToMs(90) - 1, 1],
      [resentAt + daysToMs(90), 0],
    ] as const) {
      await office.runner.advance({ to: time });
      await deleteExpiredRecords(office.store, office.clock.now());
      assert.equal((await countRows(office.store)).deliveries, count);
    }
  });

  it("skips due deliveries of a deleted webhook", async (t) => {
    const office = await createDeliveryFixture(t);
    const sink = await startReceiver(t);
    sink.respond(500);
    const id = await office.subscribe(sink.url);
    await office.happen("CONTRACT_CREATED");
    await office.runner.waitUntilIdle();
    await office.store.transaction("delete", (tx) => tx.delete(webhookRows, id));
    await office.runner.advance({ untilIdle: true });
    assert.deepEqual(await office.story(), [{ webhook: id, outcome: "skipped_deleted", attempts: ["+0 500"] }]);
  });
});
