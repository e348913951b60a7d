import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { collections } from "../../../emulator/collections.ts";
import { openFileStore } from "../../../emulator/store/file-store.ts";
import type { Store } from "../../../emulator/store/store.ts";
import { emit } from "../../../emulator/webhooks/emit.ts";
import { SYSTEM } from "../../../emulator/webhooks/payload.ts";
import { subscriptions } from "../../../emulator/webhooks/subscriptions.ts";
import { systemWall } from "../../../src/base/clock.ts";
import { receiver } from "../../support/receiver.ts";
import { begin, minutes, post, subscriptionOf } from "../../support/webhooks.ts";

async function stateFile(t: TestContext): Promise<() => Promise<Store>> {
  const folder = await mkdtemp(join(tmpdir(), "svc-"));
  t.after(() => rm(folder, { recursive: true }));
  return () => openFileStore({ path: join(folder, "emulator.json"), collections, wall: systemWall });
}

describe("after a restart", () => {
  it("the schedule goes on where it was", async (t) => {
    const open = await stateFile(t);
    const sink = await receiver(t);
    sink.answer(500);
    const before = await post(t, { store: await open() });
    const id = await before.subscribe(sink.url);
    await before.happen("CONTRACT_CREATED");
    await before.runner.advance({ by: minutes(20) });
    await before.close();

    const after = await post(t, { store: await open() });
    assert.deepEqual((await after.runner.status()).next_due, after.clock.now() + minutes(15));
    await after.runner.advance({ untilIdle: true });
    assert.deepEqual(await after.story(), [
      {
        webhook: id,
        outcome: "skipped_disabled",
        attempts: ["+0 500", "+5 500", "+15 500", "+35 500", "+75 500", "+155 500"],
      },
    ]);
  });

  it("an attempt whose outcome was not recorded is made again", async (t) => {
    const open = await stateFile(t);
    const sink = await receiver(t);
    const reached = new Promise<void>((resolve) => sink.answer(() => resolve()));
    const before = await post(t, { store: await open(), wall: impatient });
    const id = await before.subscribe(sink.url);
    await before.happen("CONTRACT_CREATED");
    await reached;
    // It hangs; closing gives up on it and writes nothing down.
    await before.close();

    sink.answer(200);
    const after = await post(t, { store: await open() });
    await after.runner.settled();
    assert.deepEqual(await after.story(), [{ webhook: id, outcome: "delivered", attempts: ["+0 200"] }]);
    assert.equal(sink.received.length, 2);
    assert.deepEqual(sink.received[0]?.body, sink.received[1]?.body);
  });

  it("10,000 waiting retries are still there and run in order", async (t) => {
    const open = await stateFile(t);
    const sink = await receiver(t);
    const before = await post(t, { store: await open() });
    const [events, receivers] = [4, 2_500];
    await before.store.transaction("wait", async (tx) => {
      for (let id = 1; id <= receivers; id += 1) tx.put(subscriptions, subscriptionOf(id, sink.url));
      // The later event first, so that order is not just that of insertion.
      for (let event = events; event > 0; event -= 1) {
        const due = begin + minutes(event);
        await emit(
          tx,
          { now: () => due },
          { workspace_id: 1, activity: "CONTRACT_CREATED", at: due, performed_by: SYSTEM },
        );
      }
    });
    assert.equal((await before.runner.status()).pending, events * receivers);
    await before.close();

    const after = await post(t, { store: await open() });
    const { ran, pending, status } = await after.runner.advance({ untilIdle: true });
    assert.deepEqual([ran.length, pending, status], [events * receivers, 0, "done"]);
    const order = ran.map(({ at, id }) => [at, id] as const);
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a[0] - b[0] || a[1] - b[1]),
    );
    // Each at its planned time, and started in the order of the queue.
    const sent = sink.received.map(({ body }) => timestampOf(body));
    assert.deepEqual([sent.length, sent], [events * receivers, sent.toSorted()]);
  });
});

/** Sleeps of closing end at once. */
const impatient = {
  ...systemWall,
  sleep: (ms: number, signal?: AbortSignal) => systemWall.sleep(Math.min(ms, 50), signal),
};

const timestampOf = (body: Buffer): string => JSON.parse(body.toString()).activity_data.timestamp;
