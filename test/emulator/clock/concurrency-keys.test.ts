import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { Runner } from "../../../emulator/clock/runner.ts";
import { dequeue, enqueue, type ScheduledEntry, schedule } from "../../../emulator/clock/schedule.ts";
import { VirtualClock } from "../../../emulator/clock/virtual-clock.ts";
import { collections } from "../../../emulator/compose/state/collections.ts";
import { openMemoryStore } from "../../../emulator/store/memory-store.ts";
import { ManualWallClock, waitForIdle } from "../../support/clocks/manual-wall-clock.ts";

const begin = Date.parse("2031-01-02T03:04:05Z");

interface Workshop {
  readonly runner: Runner;
  /** Refs of the started entries, in order. */
  readonly startedNames: string[];
  readonly failures: string[];
  /** The number of entries that are started and not released. */
  readonly atWork: number;
  /** Adds entries to the queue in one transaction, written `key ref`, due at this many ms after the start. */
  add(due: number, ...entries: readonly string[]): Promise<readonly ScheduledEntry[]>;
  /** Releases work and waits until the runner is idle. */
  letGo(...refs: readonly string[]): Promise<void>;
  listQueued(): Promise<readonly string[]>;
  /** Simulates a replaced state. */
  replaceState(): void;
}

/**
 * A runner whose work continues until it is released. `capacity` is the number of entries per concurrency key that may
 * run, or the error of reading it. Refs that start with `bad` cannot be started while `spoilt`.
 */
async function createHeldRunner(
  t: TestContext,
  capacity: (key: string) => number = () => Number.POSITIVE_INFINITY,
  trial = { spoilt: false },
): Promise<Workshop> {
  const wall = new ManualWallClock();
  const store = openMemoryStore({ collections, wall });
  const clock = await VirtualClock.open(store, wall, { mode: "manual", now: begin + 1_000 });
  const startedNames: string[] = [];
  const failures: string[] = [];
  const heldEntries = new Map<string, () => void>();
  const runner = new Runner({
    store,
    clock,
    wall,
    onError: ({ ref }, error) => failures.push(`${ref}: ${(error as Error).message}`),
    handlers: {
      work: {
        async start(_, entry) {
          if (trial.spoilt && entry.ref.startsWith("bad")) throw new Error("spoilt");
          startedNames.push(entry.ref);
          await new Promise<void>((resolve) => heldEntries.set(entry.ref, resolve));
          return (tx) => {
            dequeue(tx, entry);
            return `made ${entry.ref}`;
          };
        },
        readCapacity: (_, key) => capacity(key),
      },
    },
  });
  const letGo = async (...refs: readonly string[]) => {
    for (const ref of refs) {
      const go = heldEntries.get(ref);
      assert.ok(go, `${ref} is not at work`);
      heldEntries.delete(ref);
      go();
    }
    await waitForIdle();
  };
  t.after(async () => {
    const closed = runner.close();
    while (heldEntries.size > 0) await letGo(...heldEntries.keys());
    await closed;
  });
  return {
    runner,
    startedNames,
    failures,
    letGo,
    replaceState() {
      runner.replaceState(clock.createStateAt(clock.now()));
      void runner.waitUntilIdle();
    },
    get atWork() {
      return heldEntries.size;
    },
    add: async (due, ...entries) => {
      const added = await store.transaction("add", (tx) =>
        entries.map((entry) => {
          const [key = "", ref = ""] = entry.split(" ");
          return enqueue(tx, {
            due: begin + due,
            kind: ref.startsWith("odd") ? "unknown" : "work",
            concurrency_key: key,
            ref,
          });
        }),
      );
      await waitForIdle();
      return added;
    },
    listQueued: async () => store.list(schedule, { by: "due" }).map(({ ref }) => ref),
  };
}

const createNames = (count: number, name: (i: number) => string): string[] =>
  Array.from({ length: count }, (_, i) => name(i));

describe("concurrency key", () => {
  it("admits entries up to its capacity in order", async (t) => {
    const shop = await createHeldRunner(t, () => 3);
    await shop.add(0, ...createNames(6, (i) => `a a${i}`));
    assert.deepEqual(shop.startedNames, ["a0", "a1", "a2"]);
    await shop.letGo("a1");
    assert.deepEqual(shop.startedNames, ["a0", "a1", "a2", "a3"]);
    await shop.letGo("a0", "a2");
    assert.deepEqual([shop.startedNames, shop.atWork], [["a0", "a1", "a2", "a3", "a4", "a5"], 3]);
    await shop.letGo("a3", "a4", "a5");
    assert.deepEqual([await shop.listQueued(), shop.atWork], [[], 0]);
  });

  it("starts no entry while its capacity is used up, and allows at least one", async (t) => {
    let capacity = 2;
    const shop = await createHeldRunner(t, () => capacity);
    await shop.add(0, ...createNames(4, (i) => `a a${i}`));
    capacity = -5;
    await shop.letGo("a0");
    assert.deepEqual(shop.startedNames, ["a0", "a1"]);
    await shop.letGo("a1");
    assert.deepEqual(shop.startedNames, ["a0", "a1", "a2"]);
    await shop.letGo("a2");
    assert.deepEqual(shop.startedNames, ["a0", "a1", "a2", "a3"]);
  });

  it("runs one entry at a time if its capacity is unknown", async (t) => {
    const shop = await createHeldRunner(t, () => {
      throw new Error("nobody knows");
    });
    await shop.add(0, "a a0", "a a1", "a a2", "b b0");
    assert.deepEqual(shop.startedNames, ["a0", "b0"]);
    await shop.letGo("a0");
    await shop.letGo("a1");
    assert.deepEqual([shop.startedNames, shop.failures], [["a0", "b0", "a1", "a2"], []]);
  });

  it("starts its next entry immediately after being empty", async (t) => {
    const keysAsked: string[] = [];
    const shop = await createHeldRunner(t, (key) => keysAsked.push(key));
    await shop.add(0, "a a0");
    await shop.letGo("a0");
    await shop.add(1, "a a1");
    assert.deepEqual([shop.startedNames, keysAsked], [["a0", "a1"], []]);
  });
});

describe("choice of the next entry", () => {
  it("reserves the last quarter of slots for keys without a running entry", async (t) => {
    const shop = await createHeldRunner(t);
    await shop.add(0, ...createNames(60, (i) => `crowd c${i}`));
    assert.deepEqual(
      shop.startedNames,
      createNames(48, (i) => `c${i}`),
    );
    await shop.add(1, "a a0", "a a1", "b b0");
    assert.deepEqual(shop.startedNames.slice(48), ["a0", "b0"]);
    await shop.letGo("a0");
    assert.deepEqual(shop.startedNames.slice(50), ["a1"]);
    // Of 50 used slots three become free, so that the first entry may run again.
    await shop.letGo("c0", "c1", "c2");
    assert.deepEqual(shop.startedNames.slice(51), ["c48"]);
    await shop.letGo("b0", "a1");
    assert.deepEqual([shop.startedNames.slice(52), shop.atWork], [["c49", "c50"], 48]);
  });

  it("prefers an entry that waited for capacity over later due ones", async (t) => {
    const shop = await createHeldRunner(t, () => 1);
    await shop.add(0, "a a0", "a a1", "b b0", "b b1");
    await shop.add(1, ...createNames(70, (i) => `key${i} later${i}`));
    const atFirst = ["a0", "b0", ...createNames(62, (i) => `later${i}`)];
    assert.deepEqual(shop.startedNames, atFirst);
    await shop.letGo("b0", "a0");
    assert.deepEqual(shop.startedNames.slice(64), ["a1", "b1"]);
    await shop.letGo("later0", "later1", "later2");
    assert.deepEqual(shop.startedNames.slice(66), ["later62", "later63", "later64"]);
  });

  it("finds entries in a multi-page backlog and starts none twice", async (t) => {
    const shop = await createHeldRunner(t);
    const backlog = createNames(2_500, (i) => `l${i} e${i}`);
    await shop.add(1, ...backlog);
    await shop.add(0, "first first");
    while (shop.atWork > 0) await shop.letGo(...shop.startedNames.slice(-shop.atWork));
    assert.deepEqual(
      [shop.startedNames.toSorted(), await shop.listQueued()],
      [["first", ...createNames(2_500, (i) => `e${i}`)].sort(), []],
    );
    assert.deepEqual(
      shop.startedNames.filter((ref) => ref !== "first"),
      createNames(2_500, (i) => `e${i}`),
    );
  });
});

describe("failing entry", () => {
  it("does not affect entries started with it, and retries with a new state", async (t) => {
    const trial = { spoilt: true };
    const shop = await createHeldRunner(t, undefined, trial);
    await shop.add(0, "a good0", "b bad", "c odd", "d good1");
    assert.deepEqual(shop.startedNames, ["good0", "good1"]);
    assert.deepEqual(shop.failures.toSorted(), [
      "bad: spoilt",
      "odd: No handler is registered for schedule entries of kind unknown",
    ]);
    await shop.letGo("good0", "good1");
    await shop.runner.waitUntilIdle();
    assert.deepEqual(await shop.listQueued(), ["bad", "odd"]);

    trial.spoilt = false;
    shop.replaceState();
    await waitForIdle();
    await shop.letGo("bad");
    assert.deepEqual([shop.startedNames, await shop.listQueued()], [["good0", "good1", "bad"], ["odd"]]);
  });
});

describe("caller that waits for an outcome", () => {
  it("receives the outcome of the run", async (t) => {
    const shop = await createHeldRunner(t);
    const [entry] = await shop.add(2_000, "a a0");
    const outcome = shop.runner.waitForOutcome(entry!.id);
    const advanced = shop.runner.advance({ by: 1_000 });
    await waitForIdle();
    await shop.letGo("a0");
    assert.deepEqual([await outcome, (await advanced).ran.map((ran) => ran.outcome)], ["made a0", ["made a0"]]);
  });

  it("receives a notification when the emulator closes", async (t) => {
    const shop = await createHeldRunner(t);
    const [entry] = await shop.add(2_000, "a a0");
    const outcome = shop.runner.waitForOutcome(entry!.id);
    await shop.runner.close();
    assert.deepEqual([await outcome, await shop.listQueued()], ["closing", ["a0"]]);
  });
});
