import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { enqueue, schedule } from "../../../emulator/clock/schedule.ts";
import { deliveries } from "../../../emulator/webhooks/deliveries.ts";
import { scheduleResend } from "../../../emulator/webhooks/log.ts";
import { startReceiver } from "../../support/receiver.ts";
import { createDeliveryFixture, type DeliveryFixture, initialTimeMs, toMilliseconds } from "../../support/webhooks.ts";

/** A receiver that responds only on command, and its pending requests. */
async function startHeldReceiver(t: Parameters<typeof startReceiver>[0]) {
  const sink = await startReceiver(t);
  const heldResponses: ((status: number) => void)[] = [];
  let resolveArrived = () => {};
  sink.respond((_, response) => {
    heldResponses.push((status) => response.writeHead(status).end());
    resolveArrived();
  });
  const next = () =>
    new Promise<void>((resolve) => {
      resolveArrived = resolve;
    });
  return { ...sink, held: heldResponses, next };
}

const listQueue = ({ store }: DeliveryFixture) =>
  store.list(schedule, { by: "due" }).map(({ id, kind, due }) => [id, kind, (due - initialTimeMs) / 60_000]);

describe("running attempt", () => {
  it("leaves no trace in the queue when its delivery was dropped", async (t) => {
    const office = await createDeliveryFixture(t);
    const sink = await startHeldReceiver(t);
    const id = await office.subscribe(sink.url);
    const attemptReceived = sink.next();
    await office.happen("CONTRACT_CREATED");
    await attemptReceived;
    await office.store.transaction("drop", (tx) => tx.delete(deliveries, 1));
    sink.held[0]!(500);
    await office.runner.waitUntilIdle();
    assert.deepEqual([await office.story(), await listQueue(office)], [[], []]);
    assert.deepEqual(await office.subscription(id), { status: "ACTIVE", failure_count: 0 });
  });

  it("does not change an entry that replaced its own", async (t) => {
    const office = await createDeliveryFixture(t);
    const sink = await startHeldReceiver(t);
    await office.subscribe(sink.url);
    const attemptReceived = sink.next();
    await office.happen("CONTRACT_CREATED");
    await attemptReceived;
    await office.store.transaction("another", (tx) => {
      tx.delete(deliveries, 1);
      const [entry] = tx.list(schedule);
      enqueue(tx, { ...entry!, due: initialTimeMs + toMilliseconds(7) });
    });
    sink.held[0]!(200);
    await office.runner.waitUntilIdle();
    assert.deepEqual(await listQueue(office), [[1, "deliver", 7]]);
  });

  it("changes nothing after a successful resend", async (t) => {
    const office = await createDeliveryFixture(t);
    const sink = await startHeldReceiver(t);
    const id = await office.subscribe(sink.url);
    const first = sink.next();
    await office.happen("CONTRACT_CREATED");
    await first;
    const second = sink.next();
    const { again } = await office.store.transaction("again", (tx) => {
      const entry = scheduleResend(tx, tx.get(deliveries, 1)!, office.clock.now());
      return { again: office.runner.waitForOutcome(entry.id) };
    });
    await second;
    sink.held[1]!(200);
    assert.equal(await again, "delivered");
    sink.held[0]!(500);
    await office.runner.waitUntilIdle();
    assert.deepEqual(await office.story(), [{ webhook: id, outcome: "delivered", attempts: ["+0 200", "+0 500"] }]);
    assert.deepEqual(await listQueue(office), []);
    assert.deepEqual(await office.subscription(id), { status: "ACTIVE", failure_count: 1 });
  });
});

describe("attempt waiting for capacity", () => {
  /** Two events of a receiver that gets one at a time; the first hangs. */
  async function waiting(t: Parameters<typeof startReceiver>[0]) {
    const office = await createDeliveryFixture(t);
    const sink = await startHeldReceiver(t);
    const id = await office.subscribe(sink.url, { failure_count: 5 });
    const attemptReceived = sink.next();
    await office.happen("CONTRACT_CREATED", "CONTRACT_SIGNED");
    await attemptReceived;
    return { office, sink, id };
  }

  it("is not made after its entry was removed", async (t) => {
    const { office, sink, id } = await waiting(t);
    await office.store.transaction("take away", (tx) => tx.delete(schedule, 2));
    sink.held[0]!(200);
    await office.runner.waitUntilIdle();
    assert.deepEqual(await office.story(), [
      { webhook: id, outcome: "delivered", attempts: ["+0 200"] },
      { webhook: id, outcome: "waiting", attempts: [] },
    ]);
    assert.deepEqual([sink.received.length, await listQueue(office)], [1, []]);
  });

  it("is not made after its delivery was dropped", async (t) => {
    const { office, sink, id } = await waiting(t);
    await office.store.transaction("drop", (tx) => tx.delete(deliveries, 2));
    sink.held[0]!(200);
    await office.runner.waitUntilIdle();
    assert.deepEqual(await office.story(), [{ webhook: id, outcome: "delivered", attempts: ["+0 200"] }]);
    assert.deepEqual([sink.received.length, await listQueue(office)], [1, []]);
  });

  it("is made once at its new time after it was postponed", async (t) => {
    const { office, sink, id } = await waiting(t);
    await office.store.transaction("move", (tx) => {
      const entry = tx.get(schedule, 2);
      enqueue(tx, { ...entry!, due: initialTimeMs + toMilliseconds(9) });
    });
    sink.held[0]!(200);
    await office.runner.waitUntilIdle();
    assert.deepEqual(await listQueue(office), [[2, "deliver", 9]]);
    sink.respond(200);
    await office.runner.advance({ untilIdle: true });
    assert.deepEqual(await office.story(), [
      { webhook: id, outcome: "delivered", attempts: ["+0 200"] },
      { webhook: id, outcome: "delivered", attempts: ["+9 200"] },
    ]);
  });
});
