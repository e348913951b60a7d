import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, it } from "node:test";
import { systemWallClock } from "../../src/base/clock.ts";
import { onAbort } from "../../src/base/concurrency.ts";

describe("abort signal with many waiters", () => {
  it("adds one listener, notifies each waiter once, and removes the listener", async () => {
    const stop = new AbortController();
    const notified: string[] = [];
    const act = () => void notified.push("same");
    const ends = [act, act, () => void notified.push("other")].map((one) => onAbort(stop.signal, one));
    assert.equal(getEventListeners(stop.signal, "abort").length, 1);
    for (const end of ends) end();
    assert.equal(getEventListeners(stop.signal, "abort").length, 0);

    ends[0]!();
    onAbort(stop.signal, act);
    onAbort(stop.signal, act)();
    const slept = systemWallClock.sleep(60_000, stop.signal);
    assert.equal(getEventListeners(stop.signal, "abort").length, 1);
    stop.abort();
    await slept;
    assert.deepEqual(notified, ["same"]);
    assert.equal(getEventListeners(stop.signal, "abort").length, 0);
  });
});
