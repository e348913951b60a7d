import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";

describe("svc webhooks with a real service", () => {
  for (const command of ["list", "deliveries", "deliveries --follow"]) {
    it(`rejects webhooks ${command}, which requires an emulator`, async (t) => {
      const cwd = await createTestFolder(t);
      const { exit, stdout, stderr } = await runCli(`webhooks ${command} --base-url http://127.0.0.1:9`, { cwd });
      assert.deepEqual(
        [exit, stdout, stderr.split("\n")[0]],
        [1, "", "error: This command requires an emulator. The selected service is that of --base-url."],
      );
    });
  }
});
