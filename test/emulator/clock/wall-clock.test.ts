import assert from "node:assert/strict";
import { it } from "node:test";
import { setImmediate as waitForNextTurn } from "node:timers/promises";
import { systemWallClock } from "../../../src/base/clock.ts";

it("the wall clock sleeps until a time in the past without a warning of Node 22 and later", async (t) => {
  const warnings: Error[] = [];
  const listener = (warning: Error) => void warnings.push(warning);
  process.on("warning", listener);
  t.after(() => process.off("warning", listener));
  await systemWallClock.sleep(-1);
  await waitForNextTurn();
  assert.deepEqual(warnings, []);
});
