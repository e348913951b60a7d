import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import fc from "fast-check";
import { pdfLimits } from "../../../../emulator/cluster/pdf/limits.ts";
import { checkPdf, PdfReader, pdfReaderBusy } from "../../../../emulator/cluster/pdf/reader.ts";

import { DeclaredFailureError, fail } from "../../../../src/api/failures.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";
import { ManualWallClock, waitForIdle } from "../../../support/clocks/manual-wall-clock.ts";
import { createPdf, createPdfBase64 } from "../../../support/contracts.ts";
import * as hostile from "../../../support/pdf/hostile-pdfs.ts";
import { startPdfReader } from "../../../support/pdf/pdf-reader.ts";

const pdfs = startPdfReader();

/** A clock that never advances, so that a slow machine does not reach the time limit first. */
const patient = new PdfReader(new ManualWallClock());
after(() => patient.close());

describe("hostile PDF", () => {
  const tooMuch = "reading it takes more than 512 MiB of memory";
  const tooDeep = "it is nested too deeply";
  const none: readonly string[] = [];
  const files: readonly (readonly [string, () => Buffer, problem: string | undefined])[] = [
    ["a form that draws itself", hostile.createSelfDrawingPdf, tooDeep],
    ["two forms that draw one another", hostile.createMutuallyDrawingPdf, tooDeep],
    ["contents that inflate to a gigabyte", () => hostile.createInflatingPdf(2 ** 30), tooMuch],
    [
      "a text of 6 million characters",
      () => hostile.createLongTextPdf(6_000_000),
      "its text is longer than 5 million characters",
    ],
    ["arrays nested 200,000 deep", () => hostile.createDeepArrayPdf(200_000), tooDeep],
    ["a page tree that is its own child", hostile.createCircularPageTreePdf, "it cannot be parsed"],
    ["a page tree 50,000 deep", () => hostile.createDeepPageTreePdf(50_000), undefined],
    ["a million objects", () => hostile.createManyObjectsPdf(1_000_000), undefined],
  ];
  for (const [label, make, problem] of files) {
    it(`returns a result for ${label}`, async () => {
      const file = make();
      const expected = problem === undefined ? { lines: none } : { problem };
      assert.deepEqual(await patient.read("text", file), expected);
      assert.deepEqual(await patient.read("text", await createPdf()), { lines: none });
    });
  }

  it("does not break the reader when truncated at any offset", async () => {
    const document = hostile.createOperatorsPdf(20);
    for (let end = 1; end < document.length; end += Math.ceil(document.length / 60)) {
      const reading = await pdfs.read("text", document.subarray(0, end));
      assert.ok(reading !== pdfReaderBusy && (reading.lines ?? reading.problem) !== undefined, `cut at ${end}`);
    }
  });

  it("does not break the reader when random bytes change", async () => {
    const document = hostile.createOperatorsPdf(20);
    const change = fc.record({ at: fc.nat(document.length - 1), byte: fc.nat(255) });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 6 }), async (changes) => {
        const file = Buffer.from(document);
        for (const { at, byte } of changes) file[at] = byte;
        const reading = await pdfs.read("text", file);
        assert.ok(reading !== pdfReaderBusy && (reading.lines ?? reading.problem) !== undefined);
      }),
      { seed: 11, numRuns: 100 },
    );
    assert.deepEqual(await pdfs.read("text", await createPdf()), { lines: none });
  });
});

describe("PDF reader limits", () => {
  const endless: readonly (readonly [string, () => Buffer])[] = [
    ["a cross-reference of 2^31 entries", () => hostile.createFalseEntryCountPdf(2 ** 31)],
    ["forms that double thirty times", () => hostile.createDoublingPdf(30)],
    ["two million operators", () => hostile.createOperatorsPdf(2_000_000)],
  ];
  for (const [label, make] of endless) {
    it(`aborts ${label} at the limit and reads the next file`, async (t) => {
      const wall = new ManualWallClock();
      const reader = new PdfReader(wall);
      t.after(() => reader.close());
      const first = reader.read("text", make());
      const second = reader.read("text", await createPdf());
      await waitForSleep(wall, pdfLimits.timeMs);
      await wall.pass(pdfLimits.timeMs);
      assert.deepEqual(await first, { problem: "reading it takes more than 10 seconds" });
      assert.deepEqual(await second, { lines: [] });
    });
  }

  it("limits the number, total bytes and time of waiting files", async (t) => {
    const wall = new ManualWallClock();
    const reader = new PdfReader(wall);
    t.after(() => reader.close());
    const endless = reader.read("text", hostile.createDoublingPdf(30));
    await waitForSleep(wall, pdfLimits.timeMs);

    const large = Buffer.alloc(pdfLimits.waitingBytes);
    const waiting = Array.from({ length: pdfLimits.waitingFiles }, () => reader.read("check", Buffer.from("x")));
    assert.equal(await reader.read("check", Buffer.from("x")), pdfReaderBusy);
    await wall.pass(pdfLimits.timeMs);
    assert.deepEqual(await endless, { problem: "reading it takes more than 10 seconds" });
    for (const read of waiting)
      assert.deepEqual(await read, { problem: "it cannot be parsed (Invalid PDF structure)" });

    const again = reader.read("text", hostile.createDoublingPdf(30));
    await waitForSleep(wall, pdfLimits.timeMs);
    const next = reader.read("check", Buffer.from("x"));
    assert.equal(await reader.read("check", large), pdfReaderBusy);
    reader.close();
    assert.equal(await next, pdfReaderBusy);
    assert.equal(await again, pdfReaderBusy);
  });
});

it("reader without free capacity rejects a file as pdfs-busy", async () => {
  const closed = new PdfReader(systemWallClock);
  closed.close();
  const isBusy = (error: unknown) => error instanceof DeclaredFailureError && error.code === "pdfs-busy";
  await assert.rejects(async () => checkPdf(await createPdfBase64(), closed, fail), isBusy);
  assert.equal(await closed.read("check", await createPdf()), pdfReaderBusy);
});

/** Waits until a sleep of this duration begins. */
async function waitForSleep(wall: ManualWallClock, ms: number): Promise<void> {
  while (!wall.sleeping.includes(ms)) await waitForIdle();
}
