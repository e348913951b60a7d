import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";

describe("svc emulator fault", () => {
  it("scripts faults, counts their matches and removes them", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    const argv = "emulator fault add --direction incoming --operation templates.list --status 503 --count 1";
    const { id } = await json<{ id: number }>(argv);
    const result = await svc("contracts templates list --retries 0");
    assert.deepEqual([result.exit, result.stderr.includes("(HTTP 503)")], [75, true]);
    assert.equal((await svc("contracts templates list")).exit, 0);
    const [fault] = await json<{ matched: number; hit: number }[]>("emulator fault list");
    assert.deepEqual([fault!.matched, fault!.hit], [2, 1]);
    assert.equal((await svc(`emulator fault remove ${id}`)).exit, 0);
    assert.deepEqual(await json("emulator fault list"), []);
  });

  it("rejects a fault without an effect", async (t) => {
    const { svc } = await startCliEmulator(t);
    const { exit, stderr } = await svc("emulator fault add --direction incoming");
    assert.deepEqual(
      [exit, stderr.includes("one of --latency-ms, --reset, --status and --truncated is required")],
      [2, true],
      stderr,
    );
  });
});
