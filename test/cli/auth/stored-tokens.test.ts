import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createTestFolder, startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { createMovedWallClock } from "../../support/clocks/moved-wall-clock.ts";
import { signIn } from "../../support/identity/sign-in.ts";
import { openSignInStore } from "../../support/identity/sign-ins.ts";
import { startReceiver } from "../../support/receiver.ts";

const hoursToMs = (count: number) => count * 3_600_000;

/** A machine with a sign-in at the emulator. Its wall clock and the emulator's clock agree. */
async function startSignedInCli(t: TestContext) {
  const emulator = await startCliEmulator(t);
  // Several commands sleep concurrently, so the advances run in sequence.
  let moved: Promise<unknown> = Promise.resolve();
  const wall = createMovedWallClock((ms) => (moved = moved.then(() => emulator.emulator.clock.advance({ by: ms }))));
  const email = "ada@northwind.example";
  const tokens = await signIn(emulator.emulator, email);
  const folder = openSignInStore(emulator.cwd);
  await folder.keep(emulator.emulator.routerUrl, {
    ...tokens,
    client_id: "demo-cli",
    expires_at: "2031-01-02T04:04:05Z",
  });
  return { ...emulator, wall, tokens, account: async () => (await folder.accounts())[emulator.emulator.routerUrl]! };
}

describe("refresh of an expiring token", () => {
  it("refreshes the token once for several concurrent commands", async (t) => {
    const { svc, wall, tokens, account, emulator } = await startSignedInCli(t);
    await wall.sleep(hoursToMs(1));
    const results = await Promise.all(Array.from({ length: 5 }, () => svc("auth token", { wall })));
    const { access_token, refresh_token, refreshed_at } = await account();
    assert.deepEqual(
      results.map(({ exit, stdout }) => [exit, stdout]),
      Array(5).fill([0, `${access_token}\n`]),
    );
    assert.notEqual(access_token, tokens.access_token);
    assert.notEqual(refresh_token, tokens.refresh_token);
    assert.match(String(refreshed_at), /^2031-01-02T04:04:/);
    const { body } = await emulator.control("GET", "requests?operation=oidc.token");
    const redeemed = (body as { items: { path?: string }[] }).items.filter((item) =>
      JSON.stringify(item).includes("/api/v1/oauth/token/"),
    );
    // One request is the sign-in, the other one the refresh.
    assert.equal(redeemed.length, 2);
  });

  it("prints the token with its type and expiry for auth token --json", async (t) => {
    const { svc, wall, tokens } = await startSignedInCli(t);
    const { exit, stdout } = await svc("auth token --json", { wall });
    const printedToken = {
      access_token: tokens.access_token,
      token_type: "Bearer",
      expires_at: "2031-01-02T04:04:05Z",
    };
    assert.deepEqual([exit, JSON.parse(stdout)], [0, printedToken]);
  });

  it("refreshes the token before a command that needs it", async (t) => {
    const { svc, wall } = await startSignedInCli(t);
    await wall.sleep(hoursToMs(1));
    const { exit, stdout } = await svc("oidc userinfo --json", { wall });
    assert.deepEqual([exit, JSON.parse(stdout).email], [0, "ada@northwind.example"]);
  });

  it("refreshes the token with auth refresh regardless of its expiry", async (t) => {
    const { svc, wall, tokens, account } = await startSignedInCli(t);
    const { exit, stdout, stderr } = await svc("auth refresh --json", { wall });
    const after = await account();
    assert.deepEqual([exit, stderr, JSON.parse(stdout).expires_at], [0, "", after.expires_at]);
    assert.notEqual(after.refresh_token, tokens.refresh_token);
    assert.equal(stdout.includes(after.access_token), false);
  });

  for (const [label, expires_at] of [
    ["has passed", "2031-01-01T00:00:00Z"],
    ["cannot be read", "tomorrow"],
  ] as const) {
    it(`refreshes a token whose expiry ${label} and tolerates expires_in out of range`, async (t) => {
      const server = await startReceiver(t);
      server.respond((_, response) =>
        response.end('{"access_token":"new","token_type":"Bearer","expires_in":1e300,"refresh_token":"next"}'),
      );
      const cwd = await createTestFolder(t);
      const folder = openSignInStore(cwd);
      await folder.keep(server.url, { refresh_token: "old", expires_at });
      const { exit, stdout } = await runCli(["auth", "token", "--base-url", server.url], {
        wall: createMovedWallClock(),
        env: { SVC_CONFIG_DIR: cwd },
      });
      assert.deepEqual([exit, stdout], [0, "new\n"]);
      const stored = (await folder.accounts())[server.url]!;
      assert.deepEqual([stored.refresh_token, stored.expires_at], ["next", "2130-12-09T03:04:05Z"]);
    });
  }

  it("rejects a token that cannot be sent in a header and keeps the stored one", async (t) => {
    const server = await startReceiver(t);
    server.respond((_, response) => response.end('{"access_token":"a\\nb","token_type":"Bearer"}'));
    const cwd = await createTestFolder(t);
    const folder = openSignInStore(cwd);
    await folder.keep(server.url, { refresh_token: "old", expires_at: "2031-01-01T00:00:00Z" });
    const before = await folder.accounts();
    const { exit, stdout, stderr } = await runCli(["auth", "token", "--base-url", server.url], {
      wall: createMovedWallClock(),
      env: { SVC_CONFIG_DIR: cwd },
    });
    assert.deepEqual(
      [exit, stdout, stderr.split("\n")[0]],
      [1, "", "error: The server returned an access token that cannot be sent in a header."],
    );
    assert.deepEqual(await folder.accounts(), before);
  });

  it("exits with 4 without a retry when the refresh is rejected", async (t) => {
    const server = await startReceiver(t);
    server.respond((_, response) =>
      response.writeHead(400, { "content-type": "application/json" }).end('{"error":"invalid_grant"}'),
    );
    const cwd = await createTestFolder(t);
    await openSignInStore(cwd).keep(server.url, { refresh_token: "old", expires_at: "2031-01-01T00:00:00Z" });
    const run = () =>
      runCli(["auth", "token", "--base-url", server.url], {
        wall: createMovedWallClock(),
        env: { SVC_CONFIG_DIR: cwd },
      });
    const first = await run();
    assert.match(first.stderr, /no longer accepts the refresh token .*\n {2}try: svc auth device-login/);
    const second = await run();
    assert.match(second.stderr, /has expired and cannot be refreshed/);
    assert.deepEqual([first.exit, second.exit, server.received.length], [4, 4, 1]);
  });

  it("exits with 75 when the server is unreachable and preserves the token for a retry", async (t) => {
    const cwd = await createTestFolder(t);
    const folder = openSignInStore(cwd);
    await folder.keep("http://127.0.0.1:1", { refresh_token: "old", expires_at: "2031-01-01T00:00:00Z" });
    const before = await folder.accounts();
    const { exit } = await runCli("auth token --base-url http://127.0.0.1:1", {
      wall: createMovedWallClock(),
      env: { SVC_CONFIG_DIR: cwd },
    });
    assert.deepEqual([exit, await folder.accounts()], [75, before]);
  });
});

describe("stored sign-ins", () => {
  it("sends tokens only to the server that issued them", async (t) => {
    const otherReceiver = await startReceiver(t);
    const { svc, wall, emulator } = await startSignedInCli(t);
    const { exit, stderr } = await svc(["oidc", "userinfo", "--base-url", otherReceiver.url], { wall });
    assert.deepEqual([exit, otherReceiver.received.length], [4, 0]);
    assert.match(stderr, /Sign in with svc auth device-login, or set SVC_TOKEN/);
    const status = await svc(["auth", "status", "--base-url", otherReceiver.url], { wall });
    assert.deepEqual(
      [status.exit, status.stderr],
      [
        4,
        `Not signed in at ${otherReceiver.url}, the server in use. Next: svc auth device-login --base-url ${otherReceiver.url}\n`,
      ],
    );
    const doctor = JSON.parse(
      (await svc(["doctor", "--json", "--base-url", otherReceiver.url], { wall })).stdout,
    ) as object[];
    assert.deepEqual(
      doctor.find((row) => "check" in row && row.check === "sign-in"),
      {
        check: "sign-in",
        status: "skipped",
        detail: `Not signed in at ${otherReceiver.url}, only at ${emulator.routerUrl}`,
        hint: null,
      },
    );
  });

  it("prefers SVC_TOKEN", async (t) => {
    const { svc, wall } = await startSignedInCli(t);
    const env = { SVC_TOKEN: "given" };
    assert.equal((await svc("auth token", { wall, env })).stdout, "given\n");
    const { stdout } = await svc("auth status --json=source,current", { wall, env });
    assert.deepEqual(JSON.parse(stdout), [
      { source: "SVC_TOKEN", current: true },
      { source: "sign-in", current: false },
    ]);
  });

  it("prefers the token of the profile", async (t) => {
    const { svc, wall, cwd, emulator } = await startSignedInCli(t);
    const path = join(cwd, "profiles.json");
    await writeFile(path, JSON.stringify({ profiles: { p: { router_url: emulator.routerUrl, token: "given" } } }));
    assert.equal((await svc("auth token --profile p", { wall })).stdout, "given\n");
    const status = await svc("auth status --profile p --json=source,location,current", { wall });
    assert.deepEqual(JSON.parse(status.stdout), [
      { source: "profile", location: path, current: true },
      { source: "sign-in", location: join(cwd, "tokens.json"), current: false },
    ]);
    const doctor = JSON.parse((await svc("doctor --profile p --json=check,detail", { wall })).stdout) as object[];
    assert.ok(doctor.some(({ detail }: { detail?: string }) => detail === `The token of profile p in ${path} is set`));
    const { exit, stderr } = await svc("auth device-login --client-id demo-cli --profile p", { wall });
    assert.deepEqual(
      [exit, stderr],
      [2, `error: The token of profile p in ${path} is set and overrides every sign-in.\n  Unset it first.\n`],
    );
  });

  it("removes the sign-in with auth logout", async (t) => {
    const { svc, wall, account, emulator } = await startSignedInCli(t);
    const { exit, stdout, stderr } = await svc("auth logout", { wall });
    assert.deepEqual([exit, stdout, stderr], [0, "", `Signed out of ${emulator.routerUrl}\n`]);
    assert.equal(await account(), undefined);
    assert.equal((await svc("auth token", { wall })).exit, 4);
    assert.deepEqual(await svc("auth logout", { wall }), { exit: 0, stdout: "", stderr: "Not signed in\n" });
  });

  it("revokes the tokens with auth logout if the server supports revocation (RFC 7009)", async (t) => {
    const server = await startReceiver(t);
    const cwd = await createTestFolder(t);
    await openSignInStore(cwd).keep(server.url, { refresh_token: "rt", revocation_url: `${server.url}/revoke` });
    const { stdout } = await runCli(["auth", "logout", "--json"], { env: { SVC_CONFIG_DIR: cwd } });
    assert.deepEqual(JSON.parse(stdout), [{ address: server.url, revoked: true }]);
    assert.deepEqual(
      server.received.map(({ url, body }) => [url, body.toString()]),
      [["/revoke", "token=rt&client_id=cli"]],
    );
  });

  for (const [name, status, type] of [
    ["reports an error", 503, "application/json"],
    ["responds with a page", 200, "text/html; charset=utf-8"],
  ] as const)
    it(`signs out and warns if the server ${name} instead of confirming the revocation`, async (t) => {
      const server = await startReceiver(t);
      server.respond((_, response) => response.writeHead(status, { "content-type": type }).end("{}"));
      const cwd = await createTestFolder(t);
      const folder = openSignInStore(cwd);
      await folder.keep(server.url, { revocation_url: `${server.url}/revoke` });
      const env = { SVC_CONFIG_DIR: cwd, SVC_TOKEN: "t" };
      const { exit, stderr } = await runCli(`auth logout --issuer ${server.url}`, { env });
      assert.deepEqual(
        [exit, stderr.split("\n"), await folder.accounts()],
        [
          0,
          [
            `${server.url} did not confirm that the tokens are revoked.`,
            `Signed out of ${server.url}`,
            "SVC_TOKEN is still set and overrides every sign-in.",
            "",
          ],
          {},
        ],
      );
      assert.deepEqual(
        server.received.map(({ body }) => body.toString()),
        ["token=at&client_id=cli"],
      );
    });

  it("requires a choice between several sign-ins", async (t) => {
    const cwd = await createTestFolder(t);
    const folder = openSignInStore(cwd);
    await folder.keep("https://a.example", {});
    await folder.keep("https://b.example", {});
    const { exit, stderr } = await runCli("auth token", { env: { SVC_CONFIG_DIR: cwd } });
    assert.equal(exit, 2);
    assert.match(stderr, /--issuer or --base-url: https:\/\/a.example, https:\/\/b.example/);
    const result = await runCli("auth token --issuer https://b.example", { env: { SVC_CONFIG_DIR: cwd } });
    assert.deepEqual([result.exit, result.stdout], [0, "at\n"]);
  });

  it("prints how to sign in again at the server of an expired sign-in", async (t) => {
    const cwd = await createTestFolder(t);
    await openSignInStore(cwd).keep("https://a.example", { expires_at: "2020-01-01T00:00:00Z" });
    const run = (argv: string) => runCli(argv, { env: { SVC_CONFIG_DIR: cwd, SVC_ROUTER_URL: "https://b.example" } });
    const next = "svc auth device-login --issuer https://a.example --client-id cli";
    const message = "The sign-in has expired and cannot be refreshed (https://a.example).";
    const { stderr } = await run("auth token --issuer https://a.example");
    assert.equal(stderr, `error: ${message}\n  try: ${next}\n`);
    const status = await run("auth status --issuer https://a.example");
    assert.equal(status.stderr, `The sign-in at https://a.example has expired. Next: ${next}\n`);
    const doctor = await runCli("doctor --json=hint", { env: { SVC_CONFIG_DIR: cwd } });
    assert.ok((JSON.parse(doctor.stdout) as object[]).some(({ hint }: { hint?: string }) => hint === next));
    assert.match((await run("auth token")).stderr, /\(https:\/\/b\.example\)\.\n {2}try: svc auth device-login\n$/);
  });

  it("selects the only sign-in if no server is configured, and signs out everywhere with --all", async (t) => {
    const cwd = await createTestFolder(t);
    const folder = openSignInStore(cwd);
    const run = (argv: string) => runCli(argv, { env: { SVC_CONFIG_DIR: cwd } });
    await folder.keep("https://a.example", {});
    const list = await run("auth status --json=address,state,current");
    const sole = { address: "https://a.example", state: "good", current: true };
    assert.deepEqual([list.exit, JSON.parse(list.stdout), list.stderr], [0, [sole], ""]);

    await folder.keep("https://b.example", {});
    const several = await run("auth status --json=address,current");
    assert.deepEqual(
      [several.exit, JSON.parse(several.stdout), several.stderr],
      [
        4,
        ["https://a.example", "https://b.example"].map((address) => ({ address, current: false })),
        "No server is selected. Use --issuer, --base-url or --profile\n",
      ],
    );
    const stderr = "Signed out of https://a.example\nSigned out of https://b.example\n";
    assert.deepEqual(await run("auth logout --all"), { exit: 0, stdout: "", stderr });
    assert.deepEqual(await folder.accounts(), {});
  });

  it("signs out although the profile in use does not exist", async (t) => {
    const cwd = await createTestFolder(t);
    const folder = openSignInStore(cwd);
    await folder.keep("https://a.example", {});
    const result = await runCli("auth logout --all", { env: { SVC_CONFIG_DIR: cwd, SVC_PROFILE: "gone" } });
    assert.deepEqual(result, { exit: 0, stdout: "", stderr: "Signed out of https://a.example\n" });
    assert.deepEqual(await folder.accounts(), {});
  });

  it("rejects a damaged file without printing its content", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "tokens.json"), '{"accounts":{"x":"very-secret');
    const { exit, stderr } = await runCli("auth status", { env: { SVC_CONFIG_DIR: cwd } });
    assert.equal(exit, 2);
    assert.match(
      stderr,
      /^error: Cannot use .*tokens\.json: the file must contain a JSON object\.\n {2}Fix or remove the file\.\n/,
    );
    assert.equal(stderr.includes("very-secret"), false);
    assert.match(await readFile(join(cwd, "tokens.json"), "utf8"), /very-secret/);
  });
});
