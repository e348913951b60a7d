import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createSentContract } from "../../support/contracts.ts";
import { startEmulatorProcess } from "../../support/emulator-process.ts";
import { createTemporaryFolder } from "../../support/store.ts";

describe("a trace", () => {
  it("is identical after kill -9", async (t) => {
    const file = join(await createTemporaryFolder(t), "emulator.json");
    const start = "2031-01-02T03:04:05Z";
    const options = { file, port: 0, clock: { mode: "manual", start } } as const;
    const first = await startEmulatorProcess(t, options);
    const body = { title: "dead", url: "http://127.0.0.1:9/", only_for_activities: ["CONTRACT_SIGNED"] };
    await first.api("POST", "/api/v2.1/public/webhooks/", { body });
    await createSentContract(first.api);
    assert.equal((await first.control("POST", "contracts/T-1/sign", { body: {} })).status, 200);
    await first.control("POST", "clock/advance", { body: { by: "PT15M" } });
    const before = (await first.control("GET", "traces/T-1")).body as { nodes: readonly { kind: string }[] };
    assert.equal(before.nodes.filter(({ kind }) => kind === "attempt").length, 3);
    await first.kill();

    const second = await startEmulatorProcess(t, options);
    assert.deepEqual((await second.control("GET", "traces/T-1")).body, before);
  });
});
