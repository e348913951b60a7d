import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { deviceGrantType, startDeviceAuthorization } from "../../support/identity/devices.ts";
import { startReceiver } from "../../support/receiver.ts";

/** A device that waits for approval, and the two commands that poll for its tokens. */
async function startPendingGrant(t: TestContext) {
  const { svc, emulator } = await startCliEmulator(t);
  const { device_code, decide } = await startDeviceAuthorization(emulator);
  const fields = ["--grant-type", deviceGrantType, "--device-code", device_code, "--client-id", "demo-cli"];
  const poll = async (command: "auth device-token" | "oidc token", ...extraArgs: string[]) => {
    await emulator.clock.advance({ by: 60_000 });
    return svc([...command.split(" "), ...fields, ...extraArgs]);
  };
  return { svc, emulator, fields, decide, poll };
}

describe("single device token request", () => {
  it("exits with 8 until the code is approved, then prints the tokens", async (t) => {
    const { poll, decide } = await startPendingGrant(t);
    for (const command of ["auth device-token", "oidc token"] as const) {
      const { exit, stdout, stderr } = await poll(command);
      assert.deepEqual([exit, stdout], [8, ""]);
      assert.match(
        stderr,
        /authorization_pending \(HTTP 400\)\n {2}The user code is not approved yet\. Poll again after the interval\.\n$/,
      );
    }
    await decide("AUTHORIZED");
    const { exit, stdout } = await poll("auth device-token", "--json");
    assert.deepEqual([exit, JSON.parse(stdout).token_type], [0, "Bearer"]);
  });

  it("exits with 8 for a request that is too early and prints how to continue", async (t) => {
    const { svc, poll, fields } = await startPendingGrant(t);
    await poll("auth device-token");
    const { exit, stderr } = await svc(["auth", "device-token", ...fields, "--json"]);
    assert.equal(exit, 8);
    // The warning about a secret on the command line precedes the error.
    const { code, hint, retryable, exitCode } = JSON.parse(stderr.trim().split("\n").at(-1)!).error;
    assert.deepEqual(
      { code, hint, retryable, exitCode },
      {
        code: "slow_down",
        hint: "The request was too early. Increase the interval by 5 s.",
        retryable: false,
        exitCode: 8,
      },
    );
  });

  it("exits with 4 once the sign-in is denied or expired, like svc auth device-login", async (t) => {
    const denied = await startPendingGrant(t);
    await denied.decide("DENIED");
    assert.equal((await denied.poll("auth device-token")).exit, 4);
    const lateGrant = await startPendingGrant(t);
    await lateGrant.emulator.clock.advance({ by: 15 * 60_000 });
    assert.equal((await lateGrant.poll("auth device-token")).exit, 4);
  });

  it("reads the error of a response with any status", async (t) => {
    const server = await startReceiver(t);
    const fields = ["--grant-type", deviceGrantType, "--device-code", "d", "--client-id", "c"];
    server.respond((_, response) =>
      response.writeHead(428, { "content-type": "application/json" }).end('{"error":"authorization_pending"}'),
    );
    assert.equal((await runCli(["auth", "device-token", ...fields, "--base-url", server.url])).exit, 8);
  });
});
