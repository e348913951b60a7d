import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as oauth from "oauth4webapi";
import { startTestEmulator } from "../support/emulator.ts";
import { callbackUrl } from "../support/identity/sign-in.ts";

const client: oauth.Client = { client_id: "demo-cli" };
const insecure = { [oauth.allowInsecureRequests]: true };

describe("unmodified oauth4webapi client", () => {
  it("discovers the issuer, exchanges a code and reads userinfo across clusters", async (t) => {
    const { routerUrl } = await startTestEmulator(t, { clock: { mode: "real" } });
    const issuer = new URL(routerUrl);
    const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
    assert.equal(server.issuer, routerUrl);

    const verifier = oauth.generateRandomCodeVerifier();
    const nonce = oauth.generateRandomNonce();
    const url = new URL(server.authorization_endpoint!);
    url.search = String(
      new URLSearchParams({
        client_id: client.client_id,
        redirect_uri: callbackUrl,
        response_type: "code",
        scope: "openid email",
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        nonce,
        svc_user: "eli@fabrikam.example",
      }),
    );
    const { headers } = await fetch(url, { redirect: "manual" });
    const parameters = oauth.validateAuthResponse(
      server,
      client,
      new URL(headers.get("location")!),
      oauth.expectNoState,
    );
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      oauth.None(),
      parameters,
      callbackUrl,
      verifier,
      insecure,
    );
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
      expectedNonce: nonce,
      requireIdToken: true,
    });
    await oauth.validateApplicationLevelSignature(server, response, insecure);
    const { sub } = oauth.getValidatedIdTokenClaims(tokens)!;
    const person = await oauth.userInfoRequest(server, client, tokens.access_token, insecure);
    assert.equal((await oauth.processUserInfoResponse(server, client, sub, person)).email, "eli@fabrikam.example");
  });

  it("finds the OAuth and OpenID Connect metadata of an issuer with a path", async (t) => {
    const issuer = new URL("https://sandbox.example/twin");
    const { routerUrl } = await startTestEmulator(t, { publicUrl: issuer.href });
    const requests: string[] = [];
    /** A proxy in front of the router, which removes the path. */
    const proxied = {
      [oauth.customFetch]: (url: string, init: object) => {
        const { pathname } = new URL(url);
        requests.push(pathname);
        return fetch(`${routerUrl}${pathname.replace(/^\/twin\//, "/")}`, init);
      },
    };
    for (const algorithm of ["oauth2", "oidc"] as const) {
      const response = await oauth.discoveryRequest(issuer, { algorithm, ...proxied });
      const server = await oauth.processDiscoveryResponse(issuer, response);
      assert.equal(server.token_endpoint, "https://sandbox.example/twin/api/v1/oauth/token/");
    }
    assert.deepEqual(requests, [
      "/.well-known/oauth-authorization-server/twin",
      "/twin/.well-known/openid-configuration",
    ]);
  });

  it("receives a valid challenge for an expired access token", async (t) => {
    const { routerUrl } = await startTestEmulator(t, { clock: { mode: "real" } });
    const issuer = new URL(routerUrl);
    const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
    const response = await oauth.userInfoRequest(server, client, "worn-out", insecure);
    await assert.rejects(oauth.processUserInfoResponse(server, client, "11", response), (error) => {
      assert.ok(error instanceof oauth.WWWAuthenticateChallengeError);
      assert.equal(error.cause[0]!.parameters.error, "invalid_token");
      return true;
    });
  });

  it("accepts access tokens in its resource server checks (RFC 9068)", async (t) => {
    const { routerUrl, control } = await startTestEmulator(t, { clock: { mode: "real" } });
    const issuer = new URL(routerUrl);
    const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
    const device = { ...server, token_endpoint: `${routerUrl}/router/v1/oauth2.0/token/` };
    const authorization = await oauth.processDeviceAuthorizationResponse(
      device,
      client,
      await oauth.deviceAuthorizationRequest(device, client, oauth.None(), new URLSearchParams(), insecure),
    );
    const poll = async () =>
      oauth.processDeviceCodeResponse(
        device,
        client,
        await oauth.deviceCodeGrantRequest(device, client, oauth.None(), authorization.device_code, insecure),
      );
    await assert.rejects(poll(), { error: "authorization_pending" });
    await assert.rejects(poll(), { error: "slow_down" });

    const second = await oauth.processDeviceAuthorizationResponse(
      device,
      client,
      await oauth.deviceAuthorizationRequest(device, client, oauth.None(), new URLSearchParams(), insecure),
    );
    await control("POST", `device-grants/${second.user_code}`, { body: { status: "AUTHORIZED" } });
    const tokens = await oauth.processDeviceCodeResponse(
      device,
      client,
      await oauth.deviceCodeGrantRequest(device, client, oauth.None(), second.device_code, insecure),
    );
    const request = new Request("https://api.example/", {
      headers: { authorization: `Bearer ${tokens.access_token}` },
    });
    const claims = await oauth.validateJwtAccessToken(server, request, routerUrl, insecure);
    assert.deepEqual([claims.sub, claims.client_id, claims.cluster], ["11", "demo-cli", "eu-1"]);
  });
});
