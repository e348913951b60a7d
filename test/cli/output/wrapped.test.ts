import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cliEmulator } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";

const widths = [20, 40, 80];

describe("a message in a narrow window", () => {
  for (const columns of widths) {
    it(`goes on between words: ${columns} columns`, async () => {
      const { exit, err } = await runCli("contracts list", { tty: true, columns });
      assert.equal(exit, 2);
      const words = await runCli("contracts list", { tty: true, columns: 1_000 });
      assert.deepEqual(err.split(/\s+/), words.err.split(/\s+/));
      const wide = err.split("\n").filter((line) => line.length > columns && line.trim().includes(" "));
      assert.deepEqual(wide, []);
    });
  }

  it("hands over a command that can be pasted", async (t) => {
    const { svc } = await cliEmulator(t);
    const { err } = await svc("contracts status T-404", { tty: true, columns: 20 });
    assert.equal(
      err,
      ["error: The service", "  refused (404): Not", "  found.", "  try: svc \\", "    contracts list", ""].join("\n"),
    );
  });
});
