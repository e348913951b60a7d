import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, it, type TestContext } from "node:test";
import { PdfReader, pdfReaderBusy } from "../../../../emulator/cluster/pdf/reader.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";
import { waitForNextTurn } from "../../../../src/base/timing.ts";
import { createPdf } from "../../../support/contracts.ts";
import * as hostile from "../../../support/pdf/hostile-pdfs.ts";

/** A used reader, and the number of processes started since. */
async function startCountedReader(t: TestContext) {
  const reader = new PdfReader(systemWallClock);
  t.after(() => reader.close());
  assert.deepEqual(await reader.read("text", await createPdf()), { lines: [] });
  let started = 0;
  const count = () => {
    started += 1;
  };
  // Node publishes every process here (diagnostics_channel, "child_process").
  subscribe("child_process", count);
  t.after(() => unsubscribe("child_process", count));
  return { reader, started: () => started };
}

/** The result of a reader that is closed afterwards. */
async function readOnce(): Promise<unknown> {
  const reader = new PdfReader(systemWallClock);
  const reading = await reader.read("text", await createPdf());
  reader.close();
  return reading;
}

describe("process of a PDF reader", () => {
  it("is reused by the next reader after the first one closes", async (t) => {
    const { reader, started } = await startCountedReader(t);
    reader.close();
    for (let time = 0; time < 3; time += 1) assert.deepEqual(await readOnce(), { lines: [] });
    assert.equal(started(), 0);
  });

  it("is not shared while in use", async (t) => {
    const { started } = await startCountedReader(t);
    assert.deepEqual(await readOnce(), { lines: [] });
    assert.equal(started(), 1);
  });

  it("is not reused if the reader closes while reading", async (t) => {
    const { reader, started } = await startCountedReader(t);
    const endless = reader.read("text", hostile.createDoublingPdf(30));
    await waitForNextTurn();
    reader.close();
    assert.equal(await endless, pdfReaderBusy);
    assert.deepEqual(await readOnce(), { lines: [] });
    assert.equal(started(), 1);
  });

  it("is not reused after a file that exceeded a limit", async (t) => {
    const { reader, started } = await startCountedReader(t);
    assert.deepEqual(await reader.read("text", hostile.createSelfDrawingPdf()), { problem: "it is nested too deeply" });
    reader.close();
    assert.deepEqual(await readOnce(), { lines: [] });
    // One more process was started for the file, because earlier files may have caused the limit.
    assert.equal(started(), 2);
  });
});
