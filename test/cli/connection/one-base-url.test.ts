import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";

/** The command line with the address of the router for both services. */
async function startCliAtRouter(t: TestContext) {
  const { emulator } = await startCliEmulator(t);
  const { clientId, clientSecret } = emulator.clusters[0]!;
  return (argv: string) =>
    runCli(argv, {
      env: { SVC_BASE_URL: emulator.routerUrl, SVC_CLIENT_ID: clientId, SVC_CLIENT_SECRET: clientSecret },
    });
}

describe("single base URL for both services", () => {
  it("routes contract API requests to the cluster of the API key", async (t) => {
    const svc = await startCliAtRouter(t);
    const templates = await svc("contracts templates list --json=id");
    assert.deepEqual([templates.exit, templates.stderr], [0, ""]);
    const intake = await svc("intake create --title Help --workflow-id 201 --json=reference_id");
    assert.deepEqual([intake.exit, intake.stderr], [0, ""]);
  });

  it("forwards rejections of the cluster and sends no misspelled request", async (t) => {
    const svc = await startCliAtRouter(t);
    const { exit, stdout, stderr } = await svc("contracts status T-99 --json");
    assert.deepEqual([exit, stdout, JSON.parse(stderr).error.message], [5, "", "Contract T-99 not found (HTTP 404)"]);
  });
});
