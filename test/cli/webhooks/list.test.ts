import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { activities } from "../../../src/api/activities.ts";
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
  it("abbreviates the list of all activities in a table only", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    const create = (title: string, names: readonly string[]) => {
      const argv = ["webhooks", "create", "--title", title, "--url", "http://127.0.0.1:9/hook"];
      return svc([...argv, ...names.flatMap((name) => ["--only-for-activities", name])]);
    };
    assert.equal((await create("Every", activities)).exit, 0);
    assert.equal((await create("One", ["CONTRACT_SIGNED"])).exit, 0);
    const printed = (await svc("webhooks list")).stdout.trim().split("\n");
    assert.deepEqual(
      printed.map((line) => line.split("\t").at(-1)),
      ["all (39)", '["CONTRACT_SIGNED"]'],
    );
    const listed = await json<{ only_for_activities: readonly string[] }[]>("webhooks list");
    assert.deepEqual(
      listed.map(({ only_for_activities: names }) => names),
      [activities, ["CONTRACT_SIGNED"]],
    );
    const chosen = await svc("webhooks list --fields only_for_activities");
    assert.deepEqual(JSON.parse(chosen.stdout.split("\n")[0]!), activities);
  });
});
