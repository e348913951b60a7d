import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { runCertify, startSignedReceiver } from "../../support/cli/signed-receiver.ts";
import { startReceiver } from "../../support/receiver.ts";

const toTenant = (url: string): string => url.replace("127.0.0.1", "tenant.localhost");

/** Browsers and curl resolve such names without the system, and many systems do not know them. */
describe("name below localhost", () => {
  it("leads svc and webhooks to this machine", async (t) => {
    const [{ svc, emulator }, hook] = [await startCliEmulator(t), await startReceiver(t)];
    const url = toTenant(hook.url);
    for (const argv of [
      ["webhooks", "create", "--title", "hook", "--url", url, "--only-for-activities", "CONTRACT_CREATED"],
      ["webhooks", "trigger", "CONTRACT_CREATED"],
      ["webhooks", "replay", "-", "--to", url],
      ["router", "health", "--base-url", toTenant(emulator.routerUrl)],
    ]) {
      const { exit, stdout, stderr } = await svc(argv, { stdin: "{}" });
      assert.equal(exit, 0, `${argv.join(" ")}: ${stdout}${stderr}`);
    }
    assert.equal(hook.received.length, 2);
  });

  it("leads svc webhooks certify to this machine", async (t) => {
    const { url, cwd } = await startSignedReceiver(t);
    const { exit, stdout, stderr } = await runCertify(cwd, toTenant(url), ["--only", "genuine"]);
    assert.equal(exit, 0, stdout + stderr);
  });
});
