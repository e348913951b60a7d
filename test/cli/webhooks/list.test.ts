import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createTestFolder, startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";

describe("svc webhooks with a real service", () => {
  for (const command of ["list", "deliveries", "deliveries --follow", "trigger CONTRACT_SIGNED", "replay --last 1"]) {
    it(`rejects webhooks ${command}, which requires an emulator`, async (t) => {
      const cwd = await createTestFolder(t);
      const { exit, stdout, stderr } = await runCli(`webhooks ${command} --base-url http://127.0.0.1:9`, { cwd });
      assert.deepEqual(
        [exit, stdout, stderr.split("\n")[0]],
        [1, "", "error: This command requires an emulator. The selected service is that of --base-url."],
      );
    });
  }

  it("does not trigger a webhook of the emulator that runs in the folder", async (t) => {
    const { svc, json, cwd } = await startCliEmulator(t);
    await writeFile(join(cwd, "profiles.json"), '{"profiles":{"staging":{"contracts_url":"http://127.0.0.1:9"}}}', {
      mode: 0o600,
    });
    const before = await json("emulator activities");
    const { exit, stderr } = await svc("webhooks trigger CONTRACT_SIGNED --profile staging");
    assert.deepEqual([exit, await json("emulator activities")], [1, before]);
    assert.match(
      stderr,
      /^error: This command requires an emulator. The selected service is that of profile staging\.$/m,
    );
  });
});

describe("svc webhooks list", () => {
  it("prints the same as svc emulator webhooks", async (t) => {
    const { svc } = await startCliEmulator(t);
    const options = "--title Signatures --url http://127.0.0.1:9/hook --only-for-activities CONTRACT_SIGNED";
    assert.equal((await svc(`webhooks create ${options}`)).exit, 0);
    const listed = await svc("webhooks list --json");
    assert.deepEqual(listed, await svc("emulator webhooks --json"));
    const [{ title, only_for_activities: activities }] = JSON.parse(listed.stdout);
    assert.deepEqual([title, activities], ["Signatures", ["CONTRACT_SIGNED"]]);
  });
});
