import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { type CliEmulator, startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { startCommand } from "../../support/cli/running-command.ts";
import { createMovedWallClock } from "../../support/clocks/moved-wall-clock.ts";
import { decodeJwtPart } from "../../support/identity/sign-in.ts";

/** An emulator whose clock follows the wall clock. A user decides after a number of polls. */
async function startWithDecision(t: TestContext, decides: { status: "AUTHORIZED" | "DENIED"; after: number }) {
  const emulator = await startCliEmulator(t);
  const wall = createMovedWallClock(async (ms) => {
    await emulator.emulator.clock.advance({ by: ms });
    if (wall.slept.length !== decides.after) return;
    const { body } = await emulator.emulator.control("GET", "state");
    const [code] = Object.keys(findUserCodes(body));
    await emulator.emulator.control("POST", `device-grants/${code}`, {
      body: { status: decides.status, cluster_id: "eu-1" },
    });
  });
  return { ...emulator, wall };
}

const findUserCodes = (state: unknown): Record<string, unknown> => {
  const text = JSON.stringify(state);
  return Object.fromEntries([...text.matchAll(/"user_code":"(\w+)"/g)].map(([, code]) => [code!, true]));
};

const readStoredTokens = async ({ cwd }: Pick<CliEmulator, "cwd">) =>
  JSON.parse(await readFile(join(cwd, "tokens.json"), "utf8"));

const login = ["auth", "device-login", "--client-id", "demo-cli"];

describe("svc auth device-login with the emulator", () => {
  it("shows address and code, waits, and stores the tokens without printing them", async (t) => {
    const { svc, cwd, emulator, wall } = await startWithDecision(t, { status: "AUTHORIZED", after: 2 });
    const { exit, stdout, stderr } = await svc(login, { wall });
    assert.deepEqual([exit, stdout], [0, ""]);
    assert.match(
      stderr,
      /^Open http:\S+\/_emulator\/device\nand enter the code (\w{4}-\w{4})\nor open \S+\?user_code=\1\nwithin 15 minutes\.\nSigned in to http:\S+; the token expires at 2031-01-02T04:04:15Z\nNext: svc auth status\n$/,
    );
    assert.deepEqual(wall.slept, [5, 5]);

    const { accounts } = await readStoredTokens({ cwd });
    const account = accounts[emulator.routerUrl];
    const modes = await Promise.all(
      [cwd, join(cwd, "tokens.json")].map(async (path) => (await stat(path)).mode & 0o777),
    );
    assert.deepEqual(modes, [0o700, 0o600]);
    assert.equal(stderr.includes(account.access_token) || stderr.includes(account.refresh_token), false);

    const status = await svc(["auth", "status", "--json"], { wall });
    assert.equal(status.exit, 0);
    assert.deepEqual(JSON.parse(status.stdout), [
      {
        address: emulator.routerUrl,
        source: "sign-in",
        location: join(cwd, "tokens.json"),
        client_id: "demo-cli",
        scope: "openid profile email",
        expires_at: "2031-01-02T04:04:15Z",
        state: "good",
        refreshable: true,
        current: true,
      },
    ]);
    assert.equal((await svc("auth token", { wall })).stdout, `${account.access_token}\n`);
    const userinfo = await svc("oidc userinfo --json", { wall });
    assert.equal(JSON.parse(userinfo.stdout).sub, decodeJwtPart(account.access_token, 1).sub);
  });

  it("compares the expiry with the emulator's virtual time", async (t) => {
    const { svc, emulator, wall } = await startWithDecision(t, { status: "AUTHORIZED", after: 1 });
    await emulator.clock.advance({ by: "P10D" });
    await svc(login, { wall });
    const readStatus = async () => {
      const { exit, stdout, stderr } = await svc("auth status --json=state,expires_at", { wall });
      return { exit, stderr, ...JSON.parse(stdout)[0] };
    };
    assert.deepEqual(await readStatus(), { exit: 0, stderr: "", state: "good", expires_at: "2031-01-12T04:04:10Z" });
    await emulator.clock.advance({ by: "PT3H" });
    assert.equal((await readStatus()).state, "to be refreshed");
    assert.equal((await svc("oidc userinfo", { wall })).exit, 0);
    assert.deepEqual(await readStatus(), { exit: 0, stderr: "", state: "good", expires_at: "2031-01-12T07:04:10Z" });
    await emulator.close();
    assert.deepEqual(await readStatus(), {
      exit: 0,
      stderr: `The emulator at ${emulator.routerUrl} does not respond, so its virtual time is unknown.\n`,
      state: "unknown",
      expires_at: "2031-01-12T07:04:10Z",
    });
  });

  it("prints the code before the wait and the outcome afterwards with --json", async (t) => {
    const { svc, wall, emulator } = await startWithDecision(t, { status: "AUTHORIZED", after: 1 });
    const sleptAtOutput: number[] = [];
    const { exit, stdout, stderr } = await svc([...login, "--json"], {
      wall,
      onOutput: () => void sleptAtOutput.push(wall.slept.length),
    });
    const [challenge, outcome, ...more] = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual([exit, sleptAtOutput.slice(0, 2), more], [0, [0, 1], []]);
    assert.match(stderr, /^Signed in to \S+; the token expires at \S+\nNext: svc auth status\n$/);
    assert.deepEqual(Object.keys(challenge), [
      "event",
      "verification_uri",
      "verification_uri_complete",
      "user_code",
      "expires_in",
      "interval",
    ]);
    assert.deepEqual(outcome, {
      event: "signed_in",
      address: emulator.routerUrl,
      client_id: "demo-cli",
      scope: "openid profile email",
      expires_at: "2031-01-02T04:04:10Z",
    });
  });

  it("exits with 130 on Ctrl-C during the wait and stores nothing", async (t) => {
    const { svc, cwd } = await startCliEmulator(t);
    const waiting = startCommand(svc, [...login, "--json"]);
    await waiting.saw("approval_needed");
    waiting.signal("SIGINT");
    const { exit, stderr } = await waiting.completion;
    assert.deepEqual([exit, stderr, await readdir(cwd)], [130, "", []]);
  });

  it("exits with 4 when the sign-in is denied and stores nothing", async (t) => {
    const { svc, wall, cwd } = await startWithDecision(t, { status: "DENIED", after: 1 });
    const { exit, stderr } = await svc(login, { wall });
    assert.equal(exit, 4);
    assert.match(stderr, /error: The sign-in was denied\.\n {2}try: svc auth device-login --client-id demo-cli\n$/);
    await assert.rejects(readStoredTokens({ cwd }), { code: "ENOENT" });
  });

  it("exits with 4 when the code expires without approval", async (t) => {
    const { svc, wall } = await startWithDecision(t, { status: "DENIED", after: -1 });
    const { exit, stderr } = await svc(login, { wall });
    assert.deepEqual([exit, wall.slept.length], [4, 179]);
    assert.match(stderr, /The code expired before it was approved/);
  });

  it("continues to wait if the machine's clock is set forward", async (t) => {
    const { svc, wall } = await startWithDecision(t, { status: "AUTHORIZED", after: 2 });
    const now = () => wall.now() + (wall.slept.length > 0 ? 2 * 3_600_000 : 0);
    const { exit, stderr } = await svc(login, { wall: { ...wall, now } });
    assert.deepEqual([exit, wall.slept], [0, [5, 5]], stderr);
  });

  it("exits with 4 for an unknown client", async (t) => {
    const { svc, wall } = await startWithDecision(t, { status: "DENIED", after: -1 });
    const { exit, stderr } = await svc("auth device-login --client-id nobody", { wall });
    assert.equal(exit, 4);
    assert.match(stderr, /failed \(HTTP 400\): .*\n {2}Check --client-id/);
  });

  it("exits with 2 without a client ID", async (t) => {
    const { svc } = await startCliEmulator(t);
    const { exit, stderr } = await svc("auth device-login");
    assert.equal(exit, 2);
    assert.match(stderr, /--client-id is required/);
  });

  it("reports that SVC_TOKEN takes precedence over a sign-in and stops", async (t) => {
    const { svc } = await startCliEmulator(t);
    const { exit, stderr } = await svc(login, { env: { SVC_TOKEN: "very-secret" } });
    assert.equal(exit, 2);
    assert.match(stderr, /SVC_TOKEN is set and overrides every sign-in\.\n {2}Unset it first\.\n$/);
  });
});
