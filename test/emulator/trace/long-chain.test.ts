import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { collections } from "../../../emulator/compose/state/collections.ts";
import { causes } from "../../../emulator/store/causes.ts";
import { openMemoryStore } from "../../../emulator/store/memory-store.ts";
import { gatherTrace } from "../../../emulator/trace/gather.ts";
import { buildTrace } from "../../../emulator/trace/tree.ts";
import { systemWallClock } from "../../../src/base/clock.ts";

describe("trace of 10,000 causes, each of which caused the next", () => {
  it("is complete from its first, a middle and its last cause", async () => {
    const store = openMemoryStore({ collections, wall: systemWallClock });
    await store.transaction("fill", (tx) => {
      for (let n = 1; n <= 10_000; n += 1) {
        const before = n === 1 ? null : `timer:${n - 1}`;
        const trace = { trace: "a".repeat(32), parent_span: null, moved_by: null };
        tx.put(causes, { id: `timer:${n}`, what: "a timer", at: n, wall_at: n, before, ...trace });
      }
    });
    for (const id of ["timer:1", "timer:5000", "timer:10000"]) {
      const rows = gatherTrace(store, { by: "cause", id });
      assert.equal(buildTrace(rows!, { describeJob: () => undefined }).nodes.length, 10_000);
    }
  });
});
