import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { VirtualClock } from "../../../emulator/clock/virtual-clock.ts";
import { collections } from "../../../emulator/compose/state/collections.ts";
import { openMemoryStore } from "../../../emulator/store/memory-store.ts";
import { StateReplacedError } from "../../../emulator/store/port.ts";
import { ManualWallClock } from "../../support/clocks/manual-wall-clock.ts";

const start = Date.parse("2031-01-02T03:04:05Z");
const store = () => openMemoryStore({ collections, wall: new ManualWallClock() });

describe("virtual time", () => {
  it("follows the wall clock at the configured speed", async () => {
    const wall = new ManualWallClock(1_000);
    const clock = await VirtualClock.open(store(), wall, { now: start });
    await wall.pass(250);
    assert.equal(clock.now(), start + 250);

    await clock.set({ speed: 60 });
    await wall.pass(1_000);
    assert.equal(clock.now(), start + 250 + 60_000);
    assert.equal(clock.getWallDelay(start + 250 + 120_000), 1_000);
  });

  it("stops in manual mode and continues in real mode", async () => {
    const wall = new ManualWallClock();
    const clock = await VirtualClock.open(store(), wall, { mode: "manual", now: start });
    await wall.pass(5_000);
    assert.deepEqual([clock.now(), clock.getWallDelay(start + 1)], [start, undefined]);
    await clock.jump(start + 90_000);
    await clock.set({ mode: "real" });
    await wall.pass(10);
    assert.equal(clock.now(), start + 90_010);
  });

  it("never goes backwards, even if the wall clock does", async () => {
    const wall = new ManualWallClock(100_000);
    const clock = await VirtualClock.open(store(), wall, { now: start });
    await wall.pass(1_000);
    assert.equal(clock.now(), start + 1_000);
    wall.setBack(40_000);
    assert.equal(clock.now(), start + 1_000);
    await wall.pass(500);
    assert.equal(clock.now(), start + 1_500);
    await clock.jump(start);
    assert.equal(clock.now(), start + 1_500);
    await wall.pass(7);
    assert.equal(clock.now(), start + 1_507);
  });

  it("goes back from the last published time when another state undoes a jump", async () => {
    const state = store();
    const clock = await VirtualClock.open(state, new ManualWallClock(), { mode: "auto", now: start });
    const jumps: number[][] = [];
    clock.watchJumps((from, to) => jumps.push([from - start, to - start]));
    await clock.jump(start + 1);
    const undone: Promise<void>[] = [];
    await state.replaceWith(state.createEmptyStore(), {
      saveReplaced: async () => void undone.push(clock.jump(start + 2)),
      onReplaced: () => clock.replaceState(clock.createStateAt(start)),
    });
    await assert.rejects(undone[0]!, StateReplacedError);
    assert.deepEqual(jumps, [
      [0, 1],
      [1, 0],
    ]);
  });

  it("stops during an advance and continues from its end", async () => {
    const wall = new ManualWallClock();
    const clock = await VirtualClock.open(store(), wall, { now: start });
    assert.equal(clock.hold(), start);
    await wall.pass(3_000);
    await clock.jump(start + 60_000);
    assert.equal(clock.now(), start + 60_000);
    clock.release();
    await wall.pass(5);
    assert.equal(clock.now(), start + 60_005);
  });

  it("includes downtime after a restart in mode real, but not in mode manual", async () => {
    const wall = new ManualWallClock();
    const clockStore = store();
    const before = await VirtualClock.open(clockStore, wall, { now: start, speed: 10 });
    await before.close();
    await wall.pass(2_000);
    const after = await VirtualClock.open(clockStore, wall);
    assert.deepEqual([after.now(), after.mode, after.speed], [start + 20_000, "real", 10]);

    await after.set({ mode: "manual" });
    await wall.pass(2_000);
    const later = await VirtualClock.open(clockStore, wall, { now: 0 });
    assert.deepEqual([later.now(), later.mode], [start + 20_000, "manual"]);
  });
});
