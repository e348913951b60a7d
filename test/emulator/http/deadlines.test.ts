import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DeadlineList } from "../../../src/base/timing.ts";
import { ManualWallClock, waitForIdle } from "../../support/clocks/manual-wall-clock.ts";

function createDeadlines() {
  const wall = new ManualWallClock();
  const late: string[] = [];
  const deadlines = new DeadlineList<string>(wall, 1_000, (name) => late.push(`${name} at ${wall.now()}`));
  return { wall, late, deadlines };
}

describe("deadline queue", () => {
  it("expires entries in order, with one sleep for all of them", async () => {
    const { wall, late, deadlines } = createDeadlines();
    deadlines.add("a");
    deadlines.add("b");
    await wall.pass(400);
    deadlines.add("c");
    assert.deepEqual(wall.sleeping, [600]);
    await wall.pass(599);
    assert.deepEqual(late, []);
    await wall.pass(1);
    assert.deepEqual([late, wall.sleeping], [["a at 1000", "b at 1000"], [400]]);
    await wall.pass(400);
    assert.deepEqual([late.slice(2), wall.sleeping], [["c at 1400"], []]);
  });

  it("expires entries that are added after all others left", async () => {
    const { wall, late, deadlines } = createDeadlines();
    const leave = deadlines.add("a");
    leave();
    await wall.pass(1_000);
    assert.deepEqual([late, wall.sleeping], [[], []]);
    deadlines.add("b");
    await wall.pass(1_000);
    assert.deepEqual([late, wall.sleeping], [["b at 2000"], []]);
  });

  it("expires every entry except removed ones", async () => {
    const { wall, late, deadlines } = createDeadlines();
    deadlines.add("a");
    const leave = deadlines.add("b");
    deadlines.add("c");
    leave();
    leave();
    await wall.pass(1_000);
    assert.deepEqual(late, ["a at 1000", "c at 1000"]);
    leave();
  });

  it("does not expire an entry that ends by input which waited for a busy process", async () => {
    const { wall, late, deadlines } = createDeadlines();
    setImmediate(deadlines.add("a"));
    await wall.pass(1_000);
    assert.deepEqual([late, wall.sleeping], [[], []]);
  });

  it("ends all entries at once, oldest first", async () => {
    const { wall, late, deadlines } = createDeadlines();
    for (const name of ["a", "b", "c"]) deadlines.add(name);
    assert.deepEqual([...deadlines.clear()], ["a", "b", "c"]);
    assert.deepEqual([...deadlines.clear()], []);
    await wall.pass(5_000);
    assert.deepEqual([late, wall.sleeping], [[], []]);
  });

  it("expires no entry after it is stopped, and leaves no sleep pending", async () => {
    const { wall, late, deadlines } = createDeadlines();
    deadlines.add("a");
    deadlines.stop();
    await waitForIdle();
    assert.deepEqual(wall.sleeping, []);
    await wall.pass(5_000);
    assert.deepEqual(late, []);
  });
});
