import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { collections } from "../../../emulator/compose/state/collections.ts";
import { openMemoryStore } from "../../../emulator/store/memory/memory-store.ts";
import type { Store, View } from "../../../emulator/store/port.ts";
import { systemWall } from "../../../src/base/clock.ts";
import { stage } from "../../support/stage.ts";

/** A store that notes by which index its rows are listed. */
function watched(store: Store, listed: unknown[]): Store {
  const noted = (view: View): View => ({
    get: (from, key) => view.get(from, key),
    getAll: (from, things, keyOf) => view.getAll(from, things, keyOf),
    list(from, slice) {
      listed.push(slice?.by);
      return view.list(from, slice);
    },
    count: (from, slice) => view.count(from, slice),
    lookup: (from, identifier) => view.lookup(from, identifier),
    size: (from) => view.size(from),
  });
  return new Proxy(store, {
    get(target, name) {
      if (name === "read") return (work: (view: View) => unknown) => store.read((view) => work(noted(view)));
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

describe("the queue", () => {
  it("is looked at once for all that changes in one turn of the event loop", async (t) => {
    const listed: unknown[] = [];
    const store = watched(openMemoryStore({ collections, wall: systemWall }), listed);
    const { runner, seen, add } = await stage(t, {}, { store });
    await runner.idle();
    listed.length = 0;
    const names = Array.from({ length: 20 }, (_, i) => `n${i}`);
    await Promise.all(names.map((name) => add([0, name])));
    await runner.idle();
    assert.deepEqual(
      seen,
      names.map((name) => `+0 ${name}`),
    );
    // When they came; nothing comes due by what was recorded of them.
    assert.deepEqual(listed, ["turn"]);
  });
});
