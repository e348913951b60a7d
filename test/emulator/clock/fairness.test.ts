import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { Runner } from "../../../emulator/clock/runner.ts";
import { dequeue, enqueue } from "../../../emulator/clock/schedule.ts";
import { VirtualClock } from "../../../emulator/clock/virtual-clock.ts";
import { collections } from "../../../emulator/compose/state/collections.ts";
import { openMemoryStore } from "../../../emulator/store/memory-store.ts";
import { systemWallClock } from "../../../src/base/clock.ts";
import { measureCostRatio } from "../../support/cost-ratio.ts";

const begin = Date.parse("2031-01-02T03:04:05Z");

interface Queue {
  /** Adds this many entries of an owner to the queue, over this many concurrency keys, all due now. */
  add(owner: string, entries: number, keys: number): Promise<void>;
  /** Starts a runner that runs six entries of a key at once. Returns a function that closes it. */
  run(hanging?: (owner: string) => boolean): () => Promise<void>;
  /** Owners of the started entries, in order. */
  readonly startedNames: string[];
  /** Resolves when this many were started. */
  waitForStarted(count: number): Promise<void>;
}

async function createQueue(t: TestContext): Promise<Queue> {
  const store = openMemoryStore({ collections, wall: systemWallClock });
  const clock = await VirtualClock.open(store, systemWallClock, { mode: "manual", now: begin });
  const startedNames: string[] = [];
  let waiting: { readonly count: number; done(): void }[] = [];
  const ownerOf = (key: string) => key.split(":")[0]!;
  const note = (key: string) => {
    startedNames.push(ownerOf(key));
    waiting = waiting.filter(({ count, done }) => startedNames.length < count || done());
  };
  return {
    startedNames,
    waitForStarted: (count) =>
      new Promise((resolve) => {
        waiting.push({ count, done: resolve });
        if (startedNames.length >= count) resolve();
      }),
    add: (owner, entries, keys) =>
      store.transaction("add", (tx) => {
        const workspace_id = [...owner].reduce((sum, letter) => 31 * sum + letter.charCodeAt(0), 7);
        for (let i = 0; i < entries; i += 1)
          enqueue(tx, { due: begin, kind: "work", concurrency_key: `${owner}:${i % keys}`, workspace_id, ref: "" });
      }),
    run(hanging = () => false) {
      const closeSignal = new AbortController();
      const runner = new Runner({
        ...{ store, clock, wall: systemWallClock, closeSignal: closeSignal.signal },
        handlers: {
          work: {
            start(_, entry, signal) {
              note(entry.concurrency_key);
              if (hanging(ownerOf(entry.concurrency_key)))
                return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
              return (tx) => {
                dequeue(tx, entry);
                return "done";
              };
            },
            readCapacity: () => 6,
          },
        },
      });
      const close = () => {
        closeSignal.abort();
        return runner.close();
      };
      t.after(close);
      return close;
    },
  };
}

/** The number of entries of one owner that started before the first of another. */
const findPosition = (begun: readonly string[], owner: string): number => begun.indexOf(owner);

describe("workspace with many ready entries", () => {
  for (const keys of [1, 20, 500]) {
    it(`does not delay another workspace with ${keys} concurrency keys`, async (t) => {
      const { add, run, startedNames, waitForStarted } = await createQueue(t);
      await add("loud", 20_000, keys);
      run();
      await waitForStarted(5_000);
      const startedCount = startedNames.length;
      await add("quiet", 3, 1);
      await waitForStarted(startedNames.length + 3_000);
      const first = findPosition(startedNames, "quiet");
      assert.notEqual(first, -1);
      // Of the 15,000 waiting entries, only the running ones and one page are in memory.
      assert.ok(first - startedCount < 600, `${first - startedCount} of the other came before`);
    });
  }

  it("shares the slots evenly with a second workspace", async (t) => {
    const { add, run, startedNames, waitForStarted } = await createQueue(t);
    await add("one", 6_000, 50);
    await add("other", 6_000, 50);
    run();
    await waitForStarted(12_000);
    // Only after both were read, because the queue is read in pages.
    const both = startedNames.slice(findPosition(startedNames, "other"));
    const shared = both.slice(0, 4_000).filter((owner) => owner === "other").length;
    assert.ok(shared >= 1_900 && shared <= 2_100, `${shared} of 4,000`);
    assert.equal(startedNames.filter((owner) => owner === "one").length, 6_000);
  });

  it("starts an entry at the same cost, however many others wait for its concurrency key", async (t) => {
    const createLongQueue = async (keys: number) => {
      const queue = await createQueue(t);
      await queue.add("loud", 80_000, keys);
      return queue;
    };
    const [oneKey, manyKeys] = [await createLongQueue(1), await createLongQueue(800)];
    const startSome = async ({ run, startedNames, waitForStarted }: Queue) => {
      const close = run();
      await waitForStarted(startedNames.length + 2_000);
      await close();
    };
    const ratio = await measureCostRatio(
      () => startSome(oneKey),
      () => startSome(manyKeys),
      2,
    );
    assert.ok(ratio < 2, `${ratio} times the usual cost`);
  });

  it("leaves slots for other workspaces when all its entries hang", async (t) => {
    const { add, run, startedNames, waitForStarted } = await createQueue(t);
    await add("hanging", 1_000, 500);
    run((owner) => owner === "hanging");
    await waitForStarted(64);
    await add("quiet", 20, 1);
    await waitForStarted(64 + 20);
    assert.deepEqual(
      ["hanging", "quiet"].map((owner) => startedNames.filter((value) => value === owner).length),
      [64, 20],
    );
  });
});
