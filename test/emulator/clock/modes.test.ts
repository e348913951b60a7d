import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { schedule } from "../../../emulator/clock/schedule.ts";
import { collections } from "../../../emulator/compose/state/collections.ts";
import { openMemoryStore } from "../../../emulator/store/memory-store.ts";
import { systemWallClock } from "../../../src/base/clock.ts";
import { ManualWallClock, waitForIdle } from "../../support/clocks/manual-wall-clock.ts";
import { createRunnerFixture, initialTimeMs, toMilliseconds } from "../../support/runner-fixture.ts";

describe("clock mode", () => {
  it("runs each entry at its time, scaled by the clock speed, in mode real", async (t) => {
    const wall = new ManualWallClock();
    const { add, runner, runs } = await createRunnerFixture(t, {}, { wall, clock: { mode: "real", speed: 60 } });
    await add([toMilliseconds(5), "a"], [toMilliseconds(20), "b"]);
    await wall.pass(4_999);
    assert.deepEqual(runs, []);
    await wall.pass(1);
    await runner.waitUntilIdle();
    assert.deepEqual(runs, ["+5 a"]);
    await wall.pass(15_000);
    await runner.waitUntilIdle();
    assert.deepEqual(runs, ["+5 a", "+20 b"]);
  });

  it("runs a later entry with an earlier due time in mode real", async (t) => {
    const wall = new ManualWallClock();
    const { add, runner, runs } = await createRunnerFixture(t, {}, { wall, clock: { mode: "real", speed: 1 } });
    await add([toMilliseconds(20), "late"]);
    await wall.pass(1_000);
    await add([toMilliseconds(1), "early"], [0, "at once"]);
    await runner.waitUntilIdle();
    // The time that had already passed when it was due.
    assert.deepEqual(runs, [`+${1 / 60} at once`]);
    await wall.pass(toMilliseconds(1));
    await runner.waitUntilIdle();
    assert.deepEqual(runs.slice(1), ["+1 early"]);
  });

  it("runs entries that became due while the machine was suspended", async (t) => {
    const wall = new ManualWallClock();
    const { add, runs } = await createRunnerFixture(t, {}, { wall, clock: { mode: "real", speed: 1 } });
    await add([toMilliseconds(5), "a"]);
    await wall.pass(1_000);
    await waitForIdle();
    // Timers stop during a suspension, and the time of day continues.
    wall.setBack(-toMilliseconds(8));
    await wall.pass(2_000);
    await waitForIdle();
    assert.deepEqual(runs, [`+${8 + 2 / 60} a`]);
  });

  it("continues from the end of an advance in mode real", async (t) => {
    const wall = new ManualWallClock();
    const { add, runner, runs, clock } = await createRunnerFixture(t, {}, { wall, clock: { mode: "real", speed: 1 } });
    await add([toMilliseconds(5), "a"], [toMilliseconds(6), "b"], [toMilliseconds(11), "c"]);
    await runner.advance({ by: toMilliseconds(10) });
    assert.deepEqual([runs, clock.now()], [["+5 a", "+6 b"], initialTimeMs + toMilliseconds(10)]);
    await wall.pass(toMilliseconds(1));
    await runner.waitUntilIdle();
    assert.deepEqual(runs, ["+5 a", "+6 b", "+11 c"]);
  });

  it("runs due entries immediately and later ones only on advance in mode manual", async (t) => {
    const wall = new ManualWallClock();
    const { add, runner, runs } = await createRunnerFixture(t, {}, { wall });
    await add([0, "now"], [1, "later"]);
    await runner.waitUntilIdle();
    await wall.pass(toMilliseconds(60));
    assert.deepEqual(runs, ["+0 now"]);
  });

  it("jumps to the next due time when idle in mode auto", async (t) => {
    const { add, runs, clock, store } = await createRunnerFixture(
      t,
      { a: ["after 5 b"], b: ["after 80 c"] },
      { clock: { mode: "auto" } },
    );
    const played = new Promise<void>((resolve) => {
      store.watch([schedule], () => void (runs.length === 3 && resolve()));
    });
    await add([0, "a"]);
    await played;
    assert.deepEqual([runs, clock.now()], [["+0 a", "+5 b", "+85 c"], initialTimeMs + toMilliseconds(85)]);
  });

  it("applies a new mode immediately", async (t) => {
    const wall = new ManualWallClock();
    const { add, runner, runs } = await createRunnerFixture(t, {}, { wall });
    await add([toMilliseconds(3), "a"]);
    assert.deepEqual(await runner.setClock({ mode: "real", speed: 180 }), {
      now: initialTimeMs,
      mode: "real",
      speed: 180,
      next_due: initialTimeMs + toMilliseconds(3),
      pending: 1,
    });
    await wall.pass(1_000);
    await runner.waitUntilIdle();
    assert.deepEqual(runs, ["+3 a"]);
  });

  it("runs overdue entries in order at the present time after a pause", async (t) => {
    const store = openMemoryStore({ collections, wall: systemWallClock });
    const wall = new ManualWallClock();
    const before = await createRunnerFixture(t, {}, { store, wall, clock: { mode: "real" }, deterministic: true });
    await before.add([toMilliseconds(2), "second"], [toMilliseconds(1), "first"], [toMilliseconds(30), "not yet"]);
    await before.runner.close();
    await wall.pass(toMilliseconds(10));
    const after = await createRunnerFixture(t, {}, { store, wall, clock: { mode: "real" }, deterministic: true });
    await after.runner.waitUntilIdle();
    assert.deepEqual(after.runs, ["+10 first", "+10 second"]);
  });

  it("runs due entries while closing and leaves the rest in the queue", async (t) => {
    const { add, runner, runs, store } = await createRunnerFixture(t, { a: ["after 0 b"] });
    await add([0, "a"], [toMilliseconds(1), "later"]);
    await runner.close();
    const waiting = store.list(schedule);
    assert.deepEqual([runs, waiting.map(({ ref }) => ref)], [["+0 a", "+0 b"], ["later"]]);
  });
});
