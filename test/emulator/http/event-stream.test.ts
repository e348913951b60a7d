import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { addHeartbeats, createEventStream, streamItems } from "../../../emulator/http/event-stream.ts";
import { ManualWallClock, waitForIdle } from "../../support/clocks/manual-wall-clock.ts";

describe("event stream", () => {
  it("sends heartbeats while idle, loses no item, and ends with its signal", async () => {
    const wall = new ManualWallClock();
    const end = new AbortController();
    const pending: number[] = [];
    let notify = () => {};
    let isWatched = true;
    const watch = (listener: () => void) => {
      notify = listener;
      return () => {
        isWatched = false;
      };
    };
    const items = streamItems(end.signal, watch, () => pending.splice(0));
    const stream = createEventStream(addHeartbeats(items, wall));
    const readNext = async () => String((await stream.next()).value);
    for (const item of [1, 2]) {
      const beat = readNext();
      await waitForIdle();
      await wall.pass(15_000);
      assert.equal(await beat, ":\n\n");
      pending.push(item);
      notify();
      assert.equal(await readNext(), `data: ${item}\n\n`);
    }
    end.abort();
    assert.deepEqual(await stream.next(), { done: true, value: undefined });
    assert.deepEqual([isWatched, wall.sleeping], [false, []]);
  });
});
