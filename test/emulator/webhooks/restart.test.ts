import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { collections } from "../../../emulator/compose/state/collections.ts";
import { openFileStore } from "../../../emulator/store/file/file-store.ts";
import type { Store } from "../../../emulator/store/port.ts";
import { systemWallClock } from "../../../src/base/clock.ts";
import { addCleanup } from "../../support/cleanup.ts";
import { startReceiver } from "../../support/receiver.ts";
import { createDeliveryFixture, toMilliseconds } from "../../support/webhooks.ts";

async function createStoreOpener(t: TestContext): Promise<() => Promise<Store>> {
  const folder = await mkdtemp(join(tmpdir(), "svc-"));
  addCleanup(t, () => rm(folder, { recursive: true }));
  return () => openFileStore({ path: join(folder, "emulator.json"), collections, wall: systemWallClock });
}

describe("webhook schedule after a restart", () => {
  it("continues from its last state", async (t) => {
    const open = await createStoreOpener(t);
    const sink = await startReceiver(t);
    sink.respond(500);
    const before = await createDeliveryFixture(t, { store: await open() });
    const id = await before.subscribe(sink.url);
    await before.happen("CONTRACT_CREATED");
    await before.runner.advance({ by: toMilliseconds(20) });
    await before.close();

    const after = await createDeliveryFixture(t, { store: await open() });
    assert.deepEqual(after.runner.readStatus().next_due, after.clock.now() + toMilliseconds(15));
    await after.runner.advance({ untilIdle: true });
    assert.deepEqual(await after.story(), [
      {
        webhook: id,
        outcome: "skipped_disabled",
        attempts: ["+0 500", "+5 500", "+15 500", "+35 500", "+75 500", "+155 500"],
      },
    ]);
  });

  it("repeats an attempt without a recorded outcome", async (t) => {
    const open = await createStoreOpener(t);
    const sink = await startReceiver(t);
    const attemptReceived = new Promise<void>((resolve) => sink.respond(() => resolve()));
    const before = await createDeliveryFixture(t, { store: await open(), wall: impatient });
    const id = await before.subscribe(sink.url);
    await before.happen("CONTRACT_CREATED");
    await attemptReceived;
    // The attempt hangs. Closing aborts the attempt without a record.
    await before.close();

    sink.respond(200);
    const after = await createDeliveryFixture(t, { store: await open() });
    await after.runner.waitUntilIdle();
    assert.deepEqual(await after.story(), [{ webhook: id, outcome: "delivered", attempts: ["+0 200"] }]);
    assert.equal(sink.received.length, 2);
    assert.deepEqual(sink.received[0]?.body, sink.received[1]?.body);
  });
});

/** Sleeps during a close end at once. */
const impatient = {
  ...systemWallClock,
  sleep: (ms: number, signal?: AbortSignal) => systemWallClock.sleep(Math.min(ms, 50), signal),
};
