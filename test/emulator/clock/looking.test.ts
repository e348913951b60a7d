import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { Runner } from "../../../emulator/clock/runner.ts";
import { dequeue, enqueue, type ScheduledEntry } from "../../../emulator/clock/schedule.ts";
import { VirtualClock } from "../../../emulator/clock/virtual-clock.ts";
import { collections } from "../../../emulator/compose/state/collections.ts";
import { overrideMethods } from "../../../emulator/store/causes.ts";
import { openMemoryStore } from "../../../emulator/store/memory-store.ts";
import type { Store, Transaction } from "../../../emulator/store/port.ts";
import { systemWallClock } from "../../../src/base/clock.ts";
import { waitForIdle } from "../../support/clocks/manual-wall-clock.ts";
import { createRunnerFixture, initialTimeMs, toMilliseconds } from "../../support/runner-fixture.ts";

/** A store that records the indexes by which its rows are listed. */
const createRecordingStore = (store: Store, reads: unknown[]): Store =>
  overrideMethods<Store>(store, {
    list(from, slice) {
      reads.push(slice?.by);
      return store.list(from, slice);
    },
  });

/** A barrier that holds all callers until it is open. */
function createGate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** A clock and a runner, ten minutes after the start. Each entry waits for `mayEnd`, then its outcome is `commit`. */
async function startRunner(
  t: TestContext,
  store: Store,
  {
    mayEnd = Promise.resolve(),
    commit = dequeue,
  }: { mayEnd?: Promise<void>; commit?: (tx: Transaction, entry: ScheduledEntry) => void },
) {
  const clock = await VirtualClock.open(store, systemWallClock, {
    mode: "manual",
    now: initialTimeMs + toMilliseconds(10),
  });
  const runs: string[] = [];
  const runner = new Runner({
    ...{ store, clock, wall: systemWallClock },
    handlers: {
      play: {
        async start(_, entry) {
          runs.push(entry.ref);
          await mayEnd;
          return (tx) => {
            commit(tx, entry);
            return "done";
          };
        },
      },
    },
  });
  t.after(() => runner.close());
  const add = (...entries: readonly (readonly [after: number, name: string])[]) =>
    store.transaction("add", (tx) => {
      for (const [after, ref] of entries)
        enqueue(tx, { due: initialTimeMs + after, kind: "play", concurrency_key: ref, ref });
    });
  return { runs, add };
}

describe("schedule queue", () => {
  it("does not list the queue for entries that are due immediately", async (t) => {
    const listCalls: unknown[] = [];
    const store = createRecordingStore(openMemoryStore({ collections, wall: systemWallClock }), listCalls);
    const { runner, runs, add } = await createRunnerFixture(t, {}, { store });
    await runner.waitUntilIdle();
    listCalls.length = 0;
    const names = Array.from({ length: 20 }, (_, i) => `n${i}`);
    await Promise.all(names.map((name) => add([0, name])));
    await runner.waitUntilIdle();
    assert.deepEqual(
      runs,
      names.map((name) => `+0 ${name}`),
    );
    assert.deepEqual(listCalls, []);
  });

  it("runs an entry again that becomes due before its last run ends", async (t) => {
    const inner = openMemoryStore({ collections, wall: systemWallClock });
    const { opened, open } = createGate();
    const store = new Proxy(inner, {
      get(target, name) {
        const value = Reflect.get(target, name, target);
        if (name !== "transaction") return typeof value === "function" ? value.bind(target) : value;
        return async (...given: Parameters<Store["transaction"]>) => {
          const result = await inner.transaction(...given);
          // All watchers are notified except the runner, which comes last.
          if (given[0] === "schedule.record") await opened;
          return result;
        };
      },
    });
    const { runs, add } = await startRunner(t, store, {
      commit: (tx, entry) =>
        entry.due === initialTimeMs ? enqueue(tx, { ...entry, due: initialTimeMs + 1 }) : dequeue(tx, entry),
    });
    await add([0, "a"]);
    await waitForIdle();
    open();
    // Not by waiting for an idle runner, because that wakes it.
    await waitForIdle();
    assert.deepEqual(runs, ["a", "a"]);
  });

  it("finds entries added at the front while a long backlog drains", async (t) => {
    const { opened, open } = createGate();
    const store = openMemoryStore({ collections, wall: systemWallClock });
    const { runs, add } = await startRunner(t, store, { mayEnd: opened });
    const backlog = Array.from({ length: 1_500 }, (_, i) => `n${i}`);
    await add(...backlog.map((name) => [toMilliseconds(5), name] as const));
    await waitForIdle();
    await add([0, "in front"]);
    await waitForIdle();
    assert.equal(runs.length < backlog.length, true);
    open();
    for (let turns = 0; turns < 500 && runs.length <= backlog.length; turns += 1) await waitForIdle();
    assert.deepEqual([...runs].sort(), [...backlog, "in front"].sort());
  });
});
