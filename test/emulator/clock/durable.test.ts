import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { enqueue } from "../../../emulator/clock/schedule.ts";
import { collections } from "../../../emulator/compose/state/collections.ts";
import { openFileStore } from "../../../emulator/store/file/file-store.ts";
import { openMemoryStore } from "../../../emulator/store/memory-store.ts";
import type { Store } from "../../../emulator/store/port.ts";
import { systemWallClock } from "../../../src/base/clock.ts";
import { waitForIdle } from "../../support/clocks/manual-wall-clock.ts";
import { createRunnerFixture, initialTimeMs, toMilliseconds } from "../../support/runner-fixture.ts";
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

/** A store with some methods replaced. */
const overrideStore = (store: Store, difference: Partial<Store>): Store => ({
  read: (work) => store.read(work),
  transaction: (name, work) => store.transaction(name, work),
  waitUntilDurable: () => store.waitUntilDurable(),
  watch: (collections, tell) => store.watch(collections, tell),
  export: () => store.export(),
  readContents: () => store.readContents(),
  createEmptyStore: () => store.createEmptyStore(),
  load: (document) => store.load(document),
  replaceWith: (next, moments) => store.replaceWith(next, moments),
  parseDocument: (document) => store.parseDocument(document),
  close: () => store.close(),
  writable: true,
  ...difference,
});

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
    const busy = overrideStore(store, {
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

  it("starts once if it is added while a user reads the queue", async (t) => {
    const store = openMemoryStore({ collections, wall: systemWallClock });
    const slow = overrideStore(store, {
      // The data arrives late, and others continue meanwhile.
      async read(work) {
        const found = await store.read(work);
        await waitForIdle();
        return found;
      },
    });
    const names = Array.from({ length: 40 }, (_, i) => `n${i}`);
    const script = Object.fromEntries(names.map((name, i) => [name, i % 2 ? [] : [`after 0 late ${name}`]]));
    const { runner, runs, add } = await createRunnerFixture(t, script, { store: slow });
    for (const name of names) {
      await add([0, name]);
      await waitForIdle();
    }
    await runner.waitUntilIdle();
    const lateNames = names.filter((_, i) => i % 2 === 0).map((name) => `late ${name}`);
    assert.deepEqual([...runs].sort(), [...names, ...lateNames].map((name) => `+0 ${name}`).sort());
  });
});
