import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { enqueue } from "../../../emulator/clock/schedule.ts";
import { collections } from "../../../emulator/compose/state/collections.ts";
import { overrideMethods } from "../../../emulator/store/causes.ts";
import { openFileStore } from "../../../emulator/store/file/file-store.ts";
import { openMemoryStore } from "../../../emulator/store/memory-store.ts";
import type { Store } from "../../../emulator/store/port.ts";
import { systemWallClock } from "../../../src/base/clock.ts";
import { ManualWallClock, waitForIdle } from "../../support/clocks/manual-wall-clock.ts";
import { createRunnerFixture, initialTimeMs, toMilliseconds } from "../../support/runner-fixture.ts";
import { createSignal } from "../../support/signal.ts";
import { createGatedDisk, createTemporaryFolder } from "../../support/store.ts";

/** A store on a disk whose syncs wait, from `hold` on, until `release`. */
async function openStoreOnHeldDisk(t: TestContext) {
  let sync = Promise.resolve();
  let release = () => {};
  const disk = createGatedDisk((call) => (call === "datasync" ? sync : undefined));
  const path = join(await createTemporaryFolder(t), "emulator.json");
  const store = await openFileStore({ path, collections, wall: systemWallClock, disk });
  t.after(() => release());
  const hold = () => {
    sync = new Promise((resolve) => {
      release = resolve;
    });
  };
  return { store, hold, release: () => release() };
}

describe("due entry", () => {
  it("starts only after the entry is durable", async (t) => {
    const { store, hold, release } = await openStoreOnHeldDisk(t);
    const { runner, runs } = await createRunnerFixture(t, {}, { store });

    hold();
    const added = store.transaction("add", (tx) =>
      enqueue(tx, { due: initialTimeMs, kind: "play", concurrency_key: "a", ref: "a" }),
    );
    const idle = runner.waitUntilIdle();
    await waitForIdle();
    assert.deepEqual(runs, []);

    release();
    await Promise.all([added, idle]);
    assert.deepEqual(runs, ["+0 a"]);
  });

  it("starts only after the advanced time is durable, despite concurrent writes", async (t) => {
    const { store, hold, release } = await openStoreOnHeldDisk(t);
    let isHeld = false;
    const busy = overrideMethods<Store>(store, {
      transaction(name, work) {
        // Another transaction is written whenever the clock moves.
        if (isHeld && name === "clock") void store.transaction("other", (tx) => tx.next("other"));
        return store.transaction(name, work);
      },
    });
    const { runner, runs, add } = await createRunnerFixture(t, {}, { store: busy });
    await add([toMilliseconds(5), "a"]);
    await runner.waitUntilIdle();

    hold();
    isHeld = true;
    const advanced = runner.advance({ by: toMilliseconds(5) });
    await waitForIdle();
    isHeld = false;
    assert.deepEqual(runs, []);

    release();
    await advanced;
    assert.deepEqual(runs, ["+5 a"]);
  });

  it("does not start while its state is being replaced, and starts if the replacement fails", async (t) => {
    const store = openMemoryStore({ collections, wall: systemWallClock });
    const wall = new ManualWallClock();
    const fixture = { store, wall, clock: { mode: "real", speed: 1 } } as const;
    const { runner, runs, add } = await createRunnerFixture(t, {}, fixture);
    await add([toMilliseconds(5), "a"]);
    const { signaled, raise } = createSignal();
    const replacement = store.replaceWith(store.createEmptyStore(), {
      saveReplaced: () => signaled.then(() => Promise.reject(new Error("no room"))),
    });
    await wall.pass(toMilliseconds(6));
    assert.deepEqual(runs, []);

    raise();
    await assert.rejects(replacement, { message: "no room" });
    await runner.waitUntilIdle();
    assert.deepEqual(runs, ["+6 a"]);
  });
});
