import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import * as openid from "openid-client";
import { startTestEmulator } from "../support/emulator.ts";
import { callbackUrl } from "../support/identity/sign-in.ts";

/** The clock is real, because these clients check tokens by the machine's clock. */
const startRealTimeEmulator = (t: Pick<TestContext, "after">) => startTestEmulator(t, { clock: { mode: "real" } });

const discover = (routerUrl: string) =>
  openid.discovery(new URL(routerUrl), "demo-cli", undefined, openid.None(), {
    execute: [openid.allowInsecureRequests, openid.enableNonRepudiationChecks],
  });

/** Simulates a browser that follows the link and picks a user. */
async function browse(url: URL, svc_user: string): Promise<URL> {
  url.searchParams.set("svc_user", svc_user);
  const response = await fetch(url, { redirect: "manual" });
  return new URL(response.headers.get("location")!);
}

describe("unmodified openid-client", () => {
  for (const [email, sub] of [
    ["ada@northwind.example", "11"],
    ["eli@fabrikam.example", "31"],
  ] as const) {
    it(`signs ${email} in with PKCE, verifies the ID token, refreshes, and reads userinfo`, async (t) => {
      const { routerUrl } = await startRealTimeEmulator(t);
      const config = await discover(routerUrl);
      const pkceCodeVerifier = openid.randomPKCECodeVerifier();
      const [expectedState, expectedNonce] = [openid.randomState(), openid.randomNonce()];
      const url = openid.buildAuthorizationUrl(config, {
        redirect_uri: callbackUrl,
        scope: "openid profile email",
        code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
        code_challenge_method: "S256",
        state: expectedState,
        nonce: expectedNonce,
        max_age: "60",
      });
      const checks = { pkceCodeVerifier, expectedState, expectedNonce, maxAge: 60, idTokenExpected: true };
      const tokens = await openid.authorizationCodeGrant(config, await browse(url, email), checks);
      assert.equal(tokens.claims()?.sub, sub);

      const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token!);
      assert.equal(refreshed.claims()?.sub, sub);
      const person = await openid.fetchUserInfo(config, refreshed.access_token, sub);
      assert.deepEqual([person.sub, person.email], [sub, email]);

      await assert.rejects(openid.refreshTokenGrant(config, tokens.refresh_token!), { error: "invalid_grant" });
      await assert.rejects(openid.refreshTokenGrant(config, refreshed.refresh_token!), { error: "invalid_grant" });
    });
  }

  it("receives login_required for prompt=none without a session", async (t) => {
    const { routerUrl } = await startRealTimeEmulator(t);
    const config = await discover(routerUrl);
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: callbackUrl,
      scope: "openid",
      code_challenge: await openid.calculatePKCECodeChallenge(openid.randomPKCECodeVerifier()),
      code_challenge_method: "S256",
      prompt: "none",
    });
    const response = await fetch(url, { redirect: "manual" });
    const back = new URL(response.headers.get("location")!);
    await assert.rejects(openid.authorizationCodeGrant(config, back), { error: "login_required" });
  });

  it("signs in silently with id_token_hint unless another user is signed in", async (t) => {
    const { routerUrl } = await startRealTimeEmulator(t);
    const config = await discover(routerUrl);
    const pkceCodeVerifier = openid.randomPKCECodeVerifier();
    const authorize = async (parameters: Record<string, string>, cookie = "") => {
      const url = openid.buildAuthorizationUrl(config, {
        redirect_uri: callbackUrl,
        scope: "openid",
        code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
        code_challenge_method: "S256",
        ...parameters,
      });
      const { headers } = await fetch(url, { redirect: "manual", headers: { cookie } });
      const back = new URL(headers.get("location")!);
      return { back, cookie: headers.get("set-cookie")?.split(";")[0] };
    };
    const eli = await authorize({ svc_user: "eli@fabrikam.example" });
    const tokens = await openid.authorizationCodeGrant(config, eli.back, { pkceCodeVerifier, idTokenExpected: true });
    const silent = { prompt: "none", id_token_hint: tokens.id_token! };

    const same = await authorize(silent, eli.cookie);
    const again = await openid.authorizationCodeGrant(config, same.back, { pkceCodeVerifier, idTokenExpected: true });
    assert.equal(again.claims()?.sub, "31");
    const ada = await authorize({ svc_user: "ada@northwind.example" });
    const secondLogin = await authorize(silent, ada.cookie);
    await assert.rejects(openid.authorizationCodeGrant(config, secondLogin.back, { pkceCodeVerifier }), {
      error: "login_required",
    });
  });

  it("completes the device flow by discovery", async (t) => {
    const { routerUrl, control } = await startRealTimeEmulator(t);
    const config = await discover(routerUrl);
    const authorization = await openid.initiateDeviceAuthorization(config, { scope: "openid email" });
    assert.deepEqual([authorization.interval, authorization.expires_in], [5, 900]);
    await control("POST", `device-grants/${authorization.user_code}`, {
      body: { status: "AUTHORIZED", email: "eli@fabrikam.example" },
    });
    // The library waits one interval before it polls. A shorter one is safe, because the first poll is never early.
    const tokens = await openid.pollDeviceAuthorizationGrant(config, { ...authorization, interval: 1 });
    assert.equal(tokens.claims()?.sub, "31");
    assert.equal((await openid.fetchUserInfo(config, tokens.access_token, "31")).email, "eli@fabrikam.example");

    const deniedDevice = await openid.initiateDeviceAuthorization(config, {});
    await control("POST", `device-grants/${deniedDevice.user_code}`, { body: { status: "DENIED" } });
    await assert.rejects(openid.pollDeviceAuthorizationGrant(config, { ...deniedDevice, interval: 1 }), {
      error: "access_denied",
    });
  });

  it("continues polling until a decision", async (t) => {
    // Twenty virtual seconds pass in each second that the library waits, so none of its polls is early.
    const { routerUrl, control } = await startTestEmulator(t, { clock: { mode: "real", speed: 20 } });
    const config = new openid.Configuration(
      {
        issuer: routerUrl,
        token_endpoint: `${routerUrl}/router/v1/oauth2.0/token/`,
        device_authorization_endpoint: `${routerUrl}/router/v1/oauth2.0/device/code/`,
      },
      "demo-cli",
      undefined,
      openid.None(),
    );
    openid.allowInsecureRequests(config);
    const authorization = await openid.initiateDeviceAuthorization(config, {});
    const outcomes: unknown[] = [];
    config[openid.customFetch] = async (url, init) => {
      const response = await fetch(url, init as RequestInit);
      const { error } = (await response.clone().json()) as { error?: string };
      outcomes.push([response.status, error]);
      if (outcomes.length === 1)
        await control("POST", `device-grants/${authorization.user_code}`, { body: { status: "AUTHORIZED" } });
      return response;
    };
    await openid.pollDeviceAuthorizationGrant(config, { ...authorization, interval: 1 });
    assert.deepEqual(outcomes, [
      [400, "authorization_pending"],
      [200, undefined],
    ]);
  });

  it("redeems a device code by token exchange", async (t) => {
    const { routerUrl, control } = await startRealTimeEmulator(t);
    const server = { issuer: routerUrl, token_endpoint: `${routerUrl}/router/v1/oauth2.0/token/` };
    const config = new openid.Configuration(
      { ...server, device_authorization_endpoint: `${routerUrl}/router/v1/oauth2.0/device/code/` },
      "demo-cli",
      undefined,
      openid.None(),
    );
    openid.allowInsecureRequests(config);
    const { device_code, user_code } = await openid.initiateDeviceAuthorization(config, {});
    await control("POST", `device-grants/${user_code}`, { body: { status: "AUTHORIZED" } });
    const tokens = await openid.genericGrantRequest(config, "urn:ietf:params:oauth:grant-type:token-exchange", {
      device_code,
      subject_token: "of somebody",
      subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
    });
    assert.equal(tokens.issued_token_type, "urn:ietf:params:oauth:token-type:access_token");
  });
});
