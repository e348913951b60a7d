import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createOAuthDeviceAuth } from "@octokit/auth-oauth-device";
import { request } from "@octokit/request";
import { startTestEmulator } from "../support/emulator.ts";

/** The client's request paths and their equivalents at the router. The client removes trailing slashes. */
const paths: Readonly<Record<string, string>> = {
  "/login/device/code": "/router/v1/oauth2.0/device/code/",
  "/login/oauth/access_token": "/router/v1/oauth2.0/token/",
};

describe("unmodified JSON device client", () => {
  it("shows the code, polls, and receives a token with the approving user", async (t) => {
    const { routerUrl, control } = await startTestEmulator(t, { clock: { mode: "real" } });
    const sent: unknown[] = [];
    const auth = createOAuthDeviceAuth({
      clientType: "oauth-app",
      clientId: "demo-cli",
      scopes: [],
      request: request.defaults({
        baseUrl: routerUrl,
        request: {
          fetch: (url: string, init: RequestInit) => {
            sent.push(JSON.parse(String(init.body)));
            const { pathname } = new URL(url);
            return fetch(`${routerUrl}${paths[pathname] ?? pathname}`, init);
          },
        },
      }),
      onVerification: async ({ user_code, verification_uri, expires_in, interval }) => {
        assert.equal(verification_uri, `${routerUrl}/_emulator/device`);
        assert.deepEqual([expires_in, interval], [900, 5]);
        await control("POST", `device-grants/${user_code}`, {
          body: { status: "AUTHORIZED", email: "ada@northwind.example" },
        });
      },
    });
    const { token, scopes } = await auth({ type: "oauth" });
    assert.deepEqual(scopes, ["openid", "profile", "email"]);
    const person = await fetch(`${routerUrl}/api/v1/oauth/userinfo/`, {
      headers: { authorization: `Bearer ${token}` },
    });
    assert.equal(((await person.json()) as { sub: string }).sub, "11");
    assert.equal((sent[1] as { grant_type: string }).grant_type, "urn:ietf:params:oauth:grant-type:device_code");
  });
});
