import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type BulkOperation, ReportBatcher } from "../../../../emulator/cluster/reports/report.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";

const map: BulkOperation = { method: "POST", path: "/map", buildBody: (texts) => texts };

/** A batcher, the texts of its requests to the router, and senders of the replaced and of the present state. */
function createBatcher() {
  const sent: unknown[] = [];
  const pauses: number[] = [];
  const sleep = (ms: number, signal?: AbortSignal) => {
    pauses.push(ms);
    return systemWallClock.sleep(ms, signal);
  };
  const batcher = new ReportBatcher(
    ({ signal }) =>
      async (_method, _path, texts) => {
        if (signal.aborted) return false;
        sent.push(texts);
        return true;
      },
    { ...systemWallClock, sleep },
    false,
  );
  const replaced = new AbortController();
  const createSender = (signal: AbortSignal) => ({ cluster_id: "eu-1", key: "k", cause: undefined, signal });
  const [old, present] = [createSender(replaced.signal), createSender(new AbortController().signal)];
  return { batcher, sent, pauses, replaced, old, present };
}

describe("batch of reports", () => {
  it("is sent after one pause if it contains a single report", async () => {
    const { batcher, sent, pauses, present } = createBatcher();
    const isAccepted = await batcher.send(present, [[map, ["new"]]]);
    assert.deepEqual({ isAccepted, sent, pauses }, { isAccepted: true, sent: [["new"]], pauses: [25] });
  });

  it("includes no report of a replaced state", async () => {
    const { batcher, sent, replaced, old, present } = createBatcher();
    replaced.abort();
    const outcomes = await Promise.all([
      batcher.send(present, [[map, ["new"]]]),
      batcher.send(old, [[map, ["old"]]]),
      batcher.send(present, [[map, ["newer"]]]),
    ]);
    assert.deepEqual({ outcomes, sent }, { outcomes: [true, false, true], sent: [["new", "newer"]] });
  });

  it("does not lose a report if its first one is of a state that is replaced meanwhile", async () => {
    const { batcher, sent, replaced, old, present } = createBatcher();
    const first = batcher.send(old, [[map, ["old"]]]);
    replaced.abort();
    const outcomes = await Promise.all([first, batcher.send(present, [[map, ["new"]]])]);
    assert.deepEqual({ outcomes, sent }, { outcomes: [false, true], sent: [["new"]] });
  });
});
