import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createTestFolder, startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { createMovedWallClock } from "../../support/clocks/moved-wall-clock.ts";
import { startReceiver } from "../../support/receiver.ts";

const begin = "auth device-login --client-id demo-cli --no-wait";

/** An emulator whose clock follows the wall clock, and a user who decides. */
async function startDeviceEmulator(t: TestContext) {
  const emulator = await startCliEmulator(t);
  const wall = createMovedWallClock((ms) => emulator.emulator.clock.advance({ by: ms }));
  const svc = (argv: string) => emulator.svc(argv, { wall });
  const decide = (code: string, status: "AUTHORIZED" | "DENIED") =>
    emulator.emulator.control("POST", `device-grants/${code}`, { body: { status, cluster_id: "eu-1" } });
  return { ...emulator, svc, decide, wall };
}

/** Starts a server that returns a code, and then these responses to polls. */
async function startCodeServer(t: TestContext, ...polls: readonly object[]) {
  const server = await startReceiver(t);
  const code = { device_code: "d", user_code: "u", verification_uri: "https://id.example.com/", expires_in: 600 };
  const responses = [code, ...polls];
  server.respond((_, response) => {
    const body = responses.shift()!;
    response.writeHead("error" in body ? 400 : 200, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  const wall = createMovedWallClock();
  const env = { SVC_CONFIG_DIR: await createTestFolder(t), SVC_ROUTER_URL: server.url };
  const svc = (argv: string, more = {}) => runCli(argv.split(" "), { wall, env: { ...env, ...more } });
  return { svc, wall, url: server.url };
}

describe("stepwise svc auth device-login", () => {
  it("exits with 8 until approval, then stores the tokens and removes the pending sign-in", async (t) => {
    const { svc, decide, cwd, wall } = await startDeviceEmulator(t);
    const started = await svc(`${begin} --json`);
    assert.equal(started.exit, 8);
    const { event, user_code, ...fields } = JSON.parse(started.stdout);
    assert.deepEqual(
      [event, Object.keys(fields)],
      ["approval_needed", ["verification_uri", "verification_uri_complete", "expires_in", "interval"]],
    );
    const loginFile = join(cwd, "device-login.json");
    const { device_code } = JSON.parse(await readFile(loginFile, "utf8"));
    assert.equal((await stat(loginFile)).mode & 0o777, 0o600);
    const early = await svc("auth device-login --finish --no-wait");
    assert.deepEqual([early.exit, early.stdout], [8, ""]);
    assert.match(early.stderr, /^The code is not approved yet\. After the approval: svc auth device-login --finish\n$/);
    await decide(user_code, "AUTHORIZED");
    const repeated = await svc("auth device-login --finish --no-wait");
    assert.deepEqual(
      [repeated.exit, repeated.stderr],
      [8, "error: It is too early to check the code again.\n  Check again in 5 s.\n"],
    );
    await wall.sleep(5_000);
    const result = await svc("auth device-login --finish --no-wait --json");
    assert.deepEqual(
      [result.exit, JSON.parse(result.stdout).event, JSON.parse(result.stdout).client_id],
      [0, "signed_in", "demo-cli"],
    );
    assert.deepEqual((await readdir(cwd)).sort(), ["tokens.json"]);
    assert.equal((await svc("auth status")).exit, 0);
    for (const { stdout, stderr } of [started, early, result])
      assert.equal(`${stdout}${stderr}`.includes(device_code), false);
  });

  it("waits in the second step on request and ends with the code", async (t) => {
    const { svc, cwd } = await startDeviceEmulator(t);
    assert.equal((await svc(begin)).exit, 8);
    const { exit, stderr } = await svc("auth device-login --finish");
    assert.equal(exit, 4);
    assert.match(stderr, /error: The code expired before it was approved\./);
    assert.deepEqual(await readdir(cwd), []);
  });

  it("signs in although the code is checked too often", async (t) => {
    const { svc, decide, wall } = await startDeviceEmulator(t);
    const { user_code } = JSON.parse((await svc(`${begin} --json`)).stdout);
    const exits = [(await svc("auth device-login --finish --no-wait")).exit];
    await decide(user_code, "AUTHORIZED");
    for (let i = 0; i < 3; i++) {
      await wall.sleep(2_000);
      exits.push((await svc("auth device-login --finish --no-wait")).exit);
    }
    assert.deepEqual(exits, [8, 8, 8, 0]);
  });

  it("waits for the interval that the server requested in an earlier step", async (t) => {
    const tokens = { access_token: "at", token_type: "Bearer" };
    const polls = [{ error: "slow_down" }, { error: "authorization_pending" }, tokens];
    const { svc, wall } = await startCodeServer(t, ...polls);
    assert.equal((await svc(begin)).exit, 8);
    assert.match((await svc("auth device-login --finish --no-wait")).stderr, /Check again in 10 s\./);
    assert.deepEqual([(await svc("auth device-login --finish")).exit, wall.slept], [0, [10, 10]]);
  });

  it("prints how to sign in again at the server of the code", async (t) => {
    for (const [error, message] of [
      ["access_denied", "The sign-in was denied."],
      ["expired_token", "The code expired before it was approved."],
    ]) {
      const { svc, url } = await startCodeServer(t, { error });
      await svc(begin);
      const { exit, stderr } = await svc("auth device-login --finish --no-wait", {
        SVC_ROUTER_URL: "https://b.example",
      });
      assert.deepEqual(
        [exit, stderr],
        [4, `error: ${message}\n  try: svc auth device-login --issuer ${url} --client-id demo-cli\n`],
      );
    }
  });

  it("rejects options of the code's request in the second step", async (t) => {
    const { svc } = await startDeviceEmulator(t);
    await svc(`${begin} --json`);
    for (const flag of ["client-id", "scope", "issuer"]) {
      const { exit, stderr } = await svc(`auth device-login --finish --${flag} x`);
      assert.deepEqual([exit, stderr.split("\n")[0]], [2, `error: --finish cannot be used with --${flag}`]);
    }
  });

  it("ends when the sign-in is denied and removes the pending sign-in", async (t) => {
    const { svc, decide, cwd } = await startDeviceEmulator(t);
    const { stdout } = await svc(`${begin} --json`);
    await decide(JSON.parse(stdout).user_code, "DENIED");
    const result = await svc("auth device-login --finish --no-wait");
    assert.deepEqual([result.exit, await readdir(cwd)], [4, []]);
    const nothing = await svc("auth device-login --finish");
    assert.equal(nothing.exit, 2);
    assert.match(nothing.stderr, /No sign-in was started with --no-wait\.\n {2}try: svc auth device-login --no-wait\n/);
  });
});
