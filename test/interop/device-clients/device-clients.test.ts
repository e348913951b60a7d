import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { certifyDeviceClient, getOwnClientCommand } from "../../support/device-clients/certify.ts";
import { installPrograms, installPythonPackages } from "../../support/foreign/installation.ts";
import { getProgramPath } from "../../support/program.ts";

const resolvePath = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
const python = await installPythonPackages("authlib==1.9.9", "requests==2.32.5");
const go = await installPrograms({
  name: "device-client-x-oauth2-0.33.0-params",
  needs: ["go", "version"],
  steps: [
    ["go", "mod", "init", "example.test/device"],
    ["cp", resolvePath("go/main.go"), "main.go"],
    ["go", "get", "golang.org/x/oauth2@v0.33.0"],
    ["go", "build", "-o", "device", "."],
  ],
});

/** The warnings for clients that end at the first non-OAuth response, which RFC 8628 allows. */
const givesUp = { "reset.continues": "warning", "html-503.continues": "warning", "lost-response.continues": "warning" };

describe("svc auth certify", { concurrency: 3 }, () => {
  it("passes svc auth device-login", async (t) => {
    const client = [process.execPath, getProgramPath("svc"), "auth", "device-login"];
    const { exit, findings, stderr } = await certifyDeviceClient(t, client);
    // The routing service documents JSON.
    assert.deepEqual([exit, findings], [0, { "request.encoding": "warning" }], stderr);
  });

  // The server determines only how requests are sent: the loop that polls is the one of the test above.
  it("passes svc auth device-login for a generic OAuth server without a warning", async (t) => {
    const argv = ["auth", "device-login", "--issuer"];
    const client = ["sh", "-c", `exec "$0" "$@" "$SVC_ROUTER_URL"`, process.execPath, getProgramPath("svc"), ...argv];
    const { exit, findings, stderr } = await certifyDeviceClient(t, client, ["--skip", "slow-down"]);
    assert.deepEqual([exit, findings], [0, {}], stderr);
  });

  it("passes openid-client", async (t) => {
    const { exit, findings, stderr } = await certifyDeviceClient(t, [
      process.execPath,
      resolvePath("openid-client.mjs"),
    ]);
    assert.deepEqual([exit, findings], [0, givesUp], stderr);
  });

  it("passes golang.org/x/oauth2", { skip: go.missing }, async (t) => {
    if (go.missing !== undefined) return;
    const { exit, findings, stderr } = await certifyDeviceClient(t, [join(go.folder, "device")]);
    assert.deepEqual([exit, findings], [0, givesUp], stderr);
  });

  it("passes Authlib", { skip: python.missing }, async (t) => {
    if (python.missing !== undefined) return;
    const { exit, findings, stderr } = await certifyDeviceClient(t, [
      join(python.folder, "bin/python"),
      resolvePath("sign_in.py"),
    ]);
    assert.deepEqual([exit, findings], [0, {}], stderr);
  });

  it("reports that @octokit/auth-oauth-device forgets a slow_down", async (t) => {
    const { exit, findings, stderr } = await certifyDeviceClient(t, [process.execPath, resolvePath("octokit.mjs")]);
    const expected = {
      "request.encoding": "warning",
      "slow-down.for-good": "failed",
      "slow-down.each": "not_checked",
      ...givesUp,
    };
    assert.deepEqual([exit, findings], [1, expected], stderr);
  });

  // test/cli/auth/certify runs the other checks with the same client.
  const mistakes = {
    "ignores-slow-down": {
      "slow-down.added": "failed",
      "slow-down.for-good": "not_checked",
      "slow-down.each": "not_checked",
    },
    "forgets-slow-down": { "slow-down.for-good": "failed", "slow-down.each": "not_checked" },
    "slows-down-once": { "slow-down.each": "failed" },
  };
  for (const [mistake, expected] of Object.entries(mistakes)) {
    it(`reports only the mistake "${mistake}" of a faulty client`, async (t) => {
      const { exit, findings, stderr } = await certifyDeviceClient(t, getOwnClientCommand(mistake), [
        "--only",
        "slow-down",
      ]);
      assert.deepEqual([exit, findings], [1, expected], stderr);
    });
  }
});
