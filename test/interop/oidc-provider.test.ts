import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { exportJWK } from "jose";
import { Provider } from "oidc-provider";
import { createTestFolder } from "../support/cli/cli-emulator.ts";
import { type RunOptions, runCli } from "../support/cli/run-cli.ts";
import { createMovedWallClock } from "../support/clocks/moved-wall-clock.ts";
import { getKeyPair } from "../support/identity/key-pairs.ts";
import { openSignInStore } from "../support/identity/sign-ins.ts";

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

/** An independent OpenID provider with the device flow and one public client. */
async function startProvider(t: Pick<TestContext, "after">): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey } = await getKeyPair();
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: "tool",
        grant_types: [deviceGrant, "refresh_token"],
        redirect_uris: [],
        response_types: [],
        token_endpoint_auth_method: "none",
        application_type: "native",
      },
    ],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: "k1", use: "sig", alg: "RS256" }] },
    cookies: { keys: ["for this test"] },
    features: { deviceFlow: { enabled: true }, revocation: { enabled: true }, devInteractions: { enabled: true } },
    findAccount: (_context: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
    issueRefreshToken: () => true,
    ttl: {
      AccessToken: 3_600,
      RefreshToken: 86_400,
      IdToken: 3_600,
      Grant: 86_400,
      Session: 600,
      Interaction: 600,
      DeviceCode: 600,
    },
  });
  server.on("request", provider.callback());
  return issuer;
}

/** Simulates a browser that opens the address and submits every form with cookies. */
async function approve(address: string, fields: Readonly<Record<string, string>>): Promise<string> {
  const cookies = new Map<string, string>();
  let url = new URL(address);
  let form: URLSearchParams | undefined;
  for (let step = 0; step < 20; step += 1) {
    const response = await fetch(url, {
      method: form ? "POST" : "GET",
      redirect: "manual",
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
      ...(form ? { body: form } : {}),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      cookies.set(name!, value!);
    }
    const location = response.headers.get("location");
    const page = await response.text();
    if (location !== null) {
      url = new URL(location, url);
      form = undefined;
      continue;
    }
    // The provider prompts for another code after an abort.
    if (fields.abort && form) return page;
    const action = /<form[^>]*action="([^"]*)"/.exec(page)?.[1];
    if (action === undefined) return page;
    form = new URLSearchParams(fields);
    for (const [, name, value] of page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)) {
      form.set(name!, value!);
    }
    url = new URL(action.replaceAll("&amp;", "&"), url);
  }
  throw new Error("the pages never ended");
}

async function runDeviceLogin(t: TestContext, decide: (address: string) => Promise<unknown>) {
  const issuer = await startProvider(t);
  const folder = await createTestFolder(t);
  let address: string | undefined;
  const wall = createMovedWallClock(() => (wall.slept.length === 2 ? decide(address!) : undefined));
  const run = (argv: string, options: RunOptions = {}) =>
    runCli([...argv.split(" "), "--issuer", issuer], { env: { SVC_CONFIG_DIR: folder }, wall, ...options });
  const login = await run("auth device-login --client-id tool --scope openid --json", {
    onOutput: (stdout) => {
      address ??= JSON.parse(stdout.split("\n")[0]!).verification_uri_complete;
    },
  });
  return { issuer, run, login, wall, account: async () => (await openSignInStore(folder).accounts())[issuer] };
}

describe("svc auth device-login with oidc-provider", () => {
  it("signs in, refreshes with rotation, and revokes", async (t) => {
    const { issuer, run, login, account } = await runDeviceLogin(t, (address) =>
      approve(address, { login: "ada", password: "x", confirm: "yes" }),
    );
    assert.equal(login.exit, 0, login.stderr);
    assert.match(
      login.stderr,
      /^Signed in to http:\/\/127\.0\.0\.1:\d+; the token expires at .*\nNext: svc auth status\n$/,
    );
    const [challenge, outcome] = login.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.match(challenge.user_code, /^\w{4}-\w{4}$/);
    assert.deepEqual([outcome.event, outcome.address, outcome.client_id], ["signed_in", issuer, "tool"]);
    const first = (await account())!;
    assert.equal((await run("auth token")).stdout, `${first.access_token}\n`);

    assert.equal((await run("auth refresh")).exit, 0);
    const second = (await account())!;
    assert.notEqual(second.access_token, first.access_token);
    assert.notEqual(second.refresh_token, first.refresh_token);

    const { exit, stdout } = await run("auth logout --json");
    assert.deepEqual([exit, JSON.parse(stdout)], [0, [{ address: issuer, revoked: true }]]);
    const secondResponse = await fetch(`${issuer}/token`, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "refresh_token",
        refresh_token: second.refresh_token!,
        client_id: "tool",
      }),
    });
    assert.deepEqual(
      [secondResponse.status, ((await secondResponse.json()) as { error: string }).error],
      [400, "invalid_grant"],
    );
  });

  it("reports that the user denied the request", async (t) => {
    const { login, account } = await runDeviceLogin(t, (address) => approve(address, { abort: "yes" }));
    assert.equal(login.exit, 4);
    assert.equal(JSON.parse(login.stderr).error.code, "access_denied");
    assert.equal(await account(), undefined);
  });

  it("reports an unknown client", async (t) => {
    const { run } = await runDeviceLogin(t, () => Promise.resolve());
    const { exit, stderr } = await run("auth device-login --client-id nobody");
    assert.equal(exit, 4);
    assert.match(stderr, /failed \(HTTP 40\d\): client (is invalid|authentication failed)/);
  });
});
