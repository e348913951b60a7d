import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { createDraftContract } from "../../support/contracts.ts";

const widths = [20, 40, 80];

describe("message in a narrow window", () => {
  for (const columns of widths) {
    it(`wraps between words at ${columns} columns`, async () => {
      const { exit, stderr } = await runCli("contracts list", { tty: true, columns });
      assert.equal(exit, 2);
      const words = await runCli("contracts list", { tty: true, columns: 1_000 });
      assert.deepEqual(stderr.split(/\s+/), words.stderr.split(/\s+/));
      const wide = stderr.split("\n").filter((line) => line.length > columns && line.trim().includes(" "));
      assert.deepEqual(wide, []);
    });
  }

  it("leaves a command on one line, so that it can be pasted", async (t) => {
    const { svc } = await startCliEmulator(t);
    const { stderr } = await svc("contracts status T-404", { tty: true, columns: 20 });
    assert.equal(
      stderr,
      ["error: Contract", "  T-404 not found", "  (HTTP 404)", "  try: svc contracts list", ""].join("\n"),
    );
  });

  it("wraps within its branch of a tree", async (t) => {
    const start = "2031-01-02T03:04:05Z";
    const { svc, emulator } = await startCliEmulator(t, { deterministic: true, clock: { mode: "manual", start } });
    await svc("webhooks create --title dead --url http://127.0.0.1:9/hook --only-for-activities CONTRACT_CREATED");
    await createDraftContract(emulator.api);
    await svc("emulator clock advance --by PT5M");
    const result = await svc("emulator trace delivery:1", { tty: true, columns: 80, env: { NO_COLOR: "1" } });
    assert.equal(
      result.stdout,
      [
        "2031-01-02T03:04:05.000Z  request:2  contracts.create POST",
        "                          /api/v2.1/public/contracts/  requested by a client",
        "2031-01-02T03:04:05.000Z  └─ event:3  CONTRACT_CREATED T-1  caused by request:2",
        "2031-01-02T03:04:05.000Z     └─ delivery:1  CONTRACT_CREATED to webhook 1",
        "                                  http://127.0.0.1:9/hook  retrying  webhook 1",
        "                                  is subscribed to CONTRACT_CREATED",
        "2031-01-02T03:04:05.000Z        ├─ attempt:1.1  attempt 1: connection_refused",
        "                                │    the first attempt",
        "2031-01-02T03:09:05.000Z        ├─ attempt:1.2  attempt 2: connection_refused",
        "                                │    retry 1, 5 min after connection_refused;",
        "                                │    request:3 advanced the clock",
        "2031-01-02T03:19:05.000Z        └─ planned: attempt 3  retry 2, 10 min after",
        "                                     connection_refused",
        "2031-01-02T03:04:05.000Z  request:3  clock.advance POST /_emulator/clock/advance",
        "                          requested by a client",
        "",
      ].join("\n"),
    );
  });
});
