import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startTestEmulator } from "../../support/emulator.ts";

type Move = Parameters<Awaited<ReturnType<typeof startTestEmulator>>["clock"]["advance"]>[0];

describe("clock.advance of the library", () => {
  it("accepts durations and times in the formats of the command line", async (t) => {
    const { clock } = await startTestEmulator(t);
    const begin = clock.now();
    const passed = async (move: Move) => (await clock.advance(move)).to - begin;
    assert.equal(await passed({ by: 1_000 }), 1_000);
    assert.equal(await passed({ by: "PT5M" }), 301_000);
    assert.equal(await passed({ by: "2h35m" }), 301_000 + 155 * 60_000);
    assert.equal(await passed({ to: new Date(begin + 86_400_000).toISOString() }), 86_400_000);
    assert.equal(await passed({ to: begin + 86_400_001 }), 86_400_001);
  });

  it("rejects invalid values with a message, without changes", async (t) => {
    const { clock } = await startTestEmulator(t);
    const begin = clock.now();
    const shape = "exactly one of by, to, next: true and untilIdle: true is required";
    const cases: [object, string][] = [
      [{ by: "5 minutes" }, 'by must be milliseconds or a duration (PT2H35M, 2h35m), got "5 minutes"'],
      [{ to: "soon" }, 'to must be milliseconds since the epoch or an ISO time, got "soon"'],
      [{ to: "2031-02-30" }, 'to must be milliseconds since the epoch or an ISO time, got "2031-02-30"'],
      [{}, shape],
      [{ by: 1, next: true }, shape],
      [{ next: false }, `${shape}, got next: false`],
      [{ untilIdle: false }, `${shape}, got untilIdle: false`],
      [{ until_idle: true }, `${shape}, got until_idle: true`],
    ];
    for (const [move, message] of cases) {
      await assert.rejects(clock.advance(move as Move), {
        name: "InvalidOptionsError",
        message: `clock.advance: ${message}`,
      });
    }
    assert.equal(clock.now(), begin);
  });
});
