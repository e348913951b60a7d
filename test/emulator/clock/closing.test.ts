import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Runner } from "../../../emulator/clock/runner.ts";
import { dequeue, enqueue, schedule } from "../../../emulator/clock/schedule.ts";
import { VirtualClock } from "../../../emulator/clock/virtual-clock.ts";
import { collections } from "../../../emulator/compose/state/collections.ts";
import { openMemoryStore } from "../../../emulator/store/memory-store.ts";
import { ManualWallClock, waitForIdle } from "../../support/clocks/manual-wall-clock.ts";
import { createSignal } from "../../support/signal.ts";

const begin = Date.parse("2031-01-02T03:04:05Z");

/** A runner with running work that ends only when it is aborted. */
async function startPatientRunner(
  wall: ManualWallClock,
  { closeSignal, putDown }: { closeSignal?: AbortSignal; putDown?: Promise<void> } = {},
) {
  const store = openMemoryStore({ collections, wall });
  const clock = await VirtualClock.open(store, wall, { mode: "manual", now: begin });
  const failures: string[] = [];
  const working = createSignal();
  const runner = new Runner({
    store,
    ...(closeSignal && { closeSignal }),
    clock,
    wall,
    onError: ({ ref }) => failures.push(ref),
    handlers: {
      patient: {
        async start(_, entry, abort) {
          working.raise();
          await new Promise((resolve) => abort.addEventListener("abort", resolve));
          // Aborted work may take a while to end.
          await putDown;
          return (tx) => {
            dequeue(tx, entry);
            return "done";
          };
        },
      },
    },
  });
  await store.transaction("add", (tx) => enqueue(tx, { due: begin, kind: "patient", concurrency_key: "a", ref: "a" }));
  await working.signaled;
  return { runner, store, failures };
}

describe("closing emulator", () => {
  it("leaves an aborted entry in the queue for the next start", async () => {
    const wall = new ManualWallClock();
    const putDown = createSignal();
    const { runner, store, failures } = await startPatientRunner(wall, { putDown: putDown.signaled });
    let isClosed = false;
    const closed = runner.close().then(() => {
      isClosed = true;
    });
    await wall.pass(5_000);
    await waitForIdle();
    assert.equal(isClosed, false);
    putDown.raise();
    await closed;
    assert.deepEqual(store.count(schedule), 1);
    assert.deepEqual(failures, []);
  });

  it("does not wait for aborted work", async () => {
    const wall = new ManualWallClock();
    const { runner, store, failures } = await startPatientRunner(wall, { closeSignal: AbortSignal.abort() });
    await runner.close();
    assert.deepEqual(store.count(schedule), 1);
    assert.deepEqual(failures, []);
  });
});
