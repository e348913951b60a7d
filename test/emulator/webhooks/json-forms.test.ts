import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { EmulatorOptions } from "../../../emulator/index.ts";
import { verifyContentHash } from "../../../src/schemes/webhook.ts";
import { addCleanup } from "../../support/cleanup.ts";
import { type CliEmulator, createTestFolder, startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { startCommand } from "../../support/cli/running-command.ts";
import { startReceiver } from "../../support/receiver.ts";

const title = "Düsseldorf";

/** The bodies of three events in this form, each checked against its signature. */
async function collectBodies(t: TestContext, webhookJson: EmulatorOptions["webhookJson"]) {
  const { emulator, json } = await startCliEmulator(t, { deterministic: true, ...(webhookJson && { webhookJson }) });
  const app = await startReceiver(t);
  const activity = "CONTRACT_SIGNED";
  await json(["webhooks", "create", "--title", "app", "--url", app.url, "--only-for-activities", activity]);
  for (let i = 0; i < 3; i += 1) await json(["webhooks", "trigger", activity, "--set", `contract_title=${title}`]);
  const key = emulator.clusters[0]!.hmacKey!;
  for (const { body, headers } of app.received) {
    const hash = headers["x-svc-webhook-content-hash"];
    assert.deepEqual(verifyContentHash(key, body, String(hash)), { ok: true });
  }
  const { request_body } = await json<{ request_body: string }>("emulator deliveries show 1");
  assert.equal(request_body, app.received[0]!.body.toString());
  return app.received.map(({ body }) => body.toString("utf8"));
}

const detectJsonForm = (body: string): string =>
  body.startsWith('{"activity": ') ? "spaced" : body.includes("D\\u00fcsseldorf") ? "escaped" : "compact";

describe("--webhook-json", () => {
  it("is an option of svc emulator start", async (t) => {
    const cwd = await createTestFolder(t);
    const app = await startReceiver(t);
    const svc: CliEmulator["svc"] = (argv, options) => runCli(argv, { cwd, ...options });
    const flags = ["--port", "0", "--clock", "manual", "--webhook-json", "spaced"];
    const emulator = startCommand(svc, ["emulator", "start", ...flags]);
    addCleanup(t, () => emulator.stop());
    await emulator.saw("Ctrl-C to stop");
    const create = [
      "webhooks",
      "create",
      "--title",
      "app",
      "--url",
      app.url,
      "--only-for-activities",
      "CONTRACT_SIGNED",
    ];
    assert.equal((await svc(create)).exit, 0);
    assert.equal((await svc("webhooks trigger CONTRACT_SIGNED")).exit, 0);
    assert.deepEqual(
      app.received.map(({ body }) => detectJsonForm(body.toString("utf8"))),
      ["spaced"],
    );
    const { exit, stderr } = await svc("emulator exec --webhook-json loose -- true");
    assert.deepEqual([exit, stderr.includes("compact, escaped, mixed or spaced")], [2, true], stderr);
  });

  it("writes the same events in different formats", async (t) => {
    const compact = await collectBodies(t, undefined);
    for (const form of ["spaced", "escaped"] as const) {
      const bodies = await collectBodies(t, form);
      assert.deepEqual(bodies.map(detectJsonForm), [form, form, form]);
      assert.deepEqual(
        bodies.map((body) => JSON.parse(body)),
        compact.map((body) => JSON.parse(body)),
      );
    }
    assert.deepEqual(compact.map(detectJsonForm), ["compact", "compact", "compact"]);
  });

  it("rotates through the formats in the same order in each run", async (t) => {
    const mixedBodies = await collectBodies(t, "mixed");
    assert.deepEqual(mixedBodies.map(detectJsonForm), ["spaced", "escaped", "compact"]);
    assert.deepEqual(await collectBodies(t, "mixed"), mixedBodies);
  });
});
