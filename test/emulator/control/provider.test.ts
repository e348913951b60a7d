import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { stylesheetHash } from "../../../emulator/http/page.ts";
import { createSender, pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { getHiddenFields } from "../../support/identity/forms.ts";
import { assertRejected } from "../../support/rejections.ts";

const form = { "content-type": "application/x-www-form-urlencoded" };

/** Opens an authorization URL, submits an identity, and returns the redirect target. */
async function signInAs(
  { routerUrl }: Pick<TestEmulator, "routerUrl">,
  url: string,
  person: { readonly email: string; readonly name?: string },
): Promise<string> {
  const page = await (await fetch(url)).text();
  const body = new URLSearchParams({ ...getHiddenFields(page), ...person });
  const response = await createSender(routerUrl)("POST", "/_emulator/provider", { body: String(body), headers: form });
  assert.equal(response.status, 303, JSON.stringify(response.body));
  return response.headers.get("location")!.slice(routerUrl.length);
}

const begin = async ({ router }: TestEmulator, path: string) =>
  (await router("GET", path)).body as { authorization_url: string; state: string };

describe("trial signup with a provider", () => {
  for (const [query, provider] of [
    ["", "ProviderA"],
    ["?provider=ProviderC", "ProviderC"],
  ] as const) {
    it(`starts at the page of ${provider} and ends as a pending signup`, async (t) => {
      const emulator = await startTestEmulator(t);
      const { authorization_url, state } = await begin(emulator, `/router/v1/trial/signup/oauth${query}`);
      assert.equal(
        authorization_url,
        `${emulator.routerUrl}/_emulator/provider?flow=trial&provider=${provider}&state=${state}`,
      );
      const back = await signInAs(emulator, authorization_url, { email: "zoe@newco.example", name: "Zoe" });
      const response = await emulator.router("GET", back);
      const { token, ...rest } = response.body as { token: string };
      assert.match(token, /^trl_/);
      assert.deepEqual(
        { status: response.status, rest },
        {
          status: 200,
          rest: {
            id: 1,
            email: "zoe@newco.example",
            oauth_provider: provider,
            account_details: { provider, email: "zoe@newco.example", name: "Zoe" },
          },
        },
      );
      await assertRejected(emulator, () => emulator.router("GET", back), {
        status: 400,
        body: { detail: "Unknown or used state" },
      });
    });
  }

  it("requires an issued state and code", async (t) => {
    const emulator = await startTestEmulator(t);
    const { state } = await begin(emulator, "/router/v1/trial/signup/oauth");
    const callback = (stateToken: string) => () =>
      emulator.router("GET", `/router/v1/trial/signup/oauth/callback?code=c0de&state=${stateToken}`);
    await assertRejected(emulator, callback("x"), { status: 400, body: { detail: "Unknown or used state" } });
    await assertRejected(emulator, callback(state), { status: 400, body: { detail: "Unknown or used code" } });
    const response = await emulator.router("GET", "/router/v1/trial/signup/oauth?provider=ProviderD");
    assert.equal(response.status, 422);
  });

  it("updates the signup by e-mail, and rejects an existing account", async (t) => {
    const emulator = await startTestEmulator(t);
    const email = "zoe@newco.example";
    const first = await emulator.router("POST", "/router/v1/trial/signup", { body: { email, captcha: "x" } });
    const come = async () => {
      const { authorization_url } = await begin(emulator, "/router/v1/trial/signup/oauth");
      return emulator.router("GET", await signInAs(emulator, authorization_url, { email }));
    };
    const { token } = first.body as { token: string };
    const again = (await come()).body as Record<string, unknown>;
    assert.deepEqual([again.token, again.oauth_provider], [token, "ProviderA"]);
    const body = { token, first_name: "Z", job_title: "GC", company_name: "N", industry: "I", use_case: "U" };
    assert.equal((await emulator.router("POST", "/router/v1/trial/signup/complete", { body })).status, 200);
    assert.deepEqual(pickStatusAndBody(await come()), {
      status: 400,
      body: { detail: "An account with this e-mail exists" },
    });
  });
});

describe("login or signup with a provider at a cluster", () => {
  it("logs in a user of the cluster that started the login", async (t) => {
    const emulator = await startTestEmulator(t);
    const { authorization_url, state } = await begin(
      emulator,
      "/api/v1/svc_auth/oauth/login?email=eli@fabrikam.example",
    );
    assert.match(state, /^us-1_/);
    const back = await signInAs(emulator, authorization_url, { email: "eli@fabrikam.example", name: "Eli" });
    assert.deepEqual(pickStatusAndBody(await emulator.router("GET", back)), {
      status: 200,
      body: {
        cluster_id: "us-1",
        oauth_provider: "ProviderA",
        email: "eli@fabrikam.example",
        name: "Eli",
        user_id: 31,
        workspace_id: 3,
      },
    });
    await assertRejected(emulator, () => emulator.router("GET", back), {
      status: 400,
      body: { detail: "Unknown or used state" },
    });
  });

  it("rejects a login without an account, and creates an account at signup", async (t) => {
    const emulator = await startTestEmulator(t);
    const email = "new@nowhere.example";
    const login = await begin(emulator, "/api/v1/svc_auth/oauth/login?provider=ProviderB");
    assert.deepEqual(
      pickStatusAndBody(await emulator.router("GET", await signInAs(emulator, login.authorization_url, { email }))),
      { status: 404, body: { detail: "No account with this e-mail" } },
    );
    const { authorization_url } = await begin(emulator, "/api/v1/svc_auth/oauth/signup");
    assert.deepEqual(
      pickStatusAndBody(await emulator.router("GET", await signInAs(emulator, authorization_url, { email }))),
      {
        status: 200,
        body: { cluster_id: "eu-1", oauth_provider: "ProviderA", email, name: "", user_id: 1, workspace_id: 4 },
      },
    );
  });

  it("rejects a state of the other flow and an unknown code", async (t) => {
    const emulator = await startTestEmulator(t);
    const { state } = await begin(emulator, "/api/v1/svc_auth/oauth/login");
    const callback = (flow: string) =>
      emulator.router("GET", `/api/v1/svc_auth/oauth/${flow}callback?code=c&state=${state}`);
    assert.deepEqual(pickStatusAndBody(await callback("signup/")), {
      status: 400,
      body: { detail: "Unknown or used state" },
    });
    assert.deepEqual(pickStatusAndBody(await callback("")), { status: 400, body: { detail: "Unknown or used code" } });
  });
});

describe("provider page", () => {
  it("escapes request values, rejects frames, and loads no resources", async (t) => {
    const emulator = await startTestEmulator(t, { publicUrl: "https://router.example" });
    const { status, headers, body } = await emulator.router(
      "GET",
      `/_emulator/provider?flow=trial&provider=${encodeURIComponent('<script>"x"')}&state=s`,
    );
    assert.equal(status, 200);
    assert.match(String(body), /&#60;script&#62;&#34;x&#34;/);
    assert.doesNotMatch(String(body), /<script/);
    assert.equal(
      headers.get("content-security-policy"),
      `default-src 'none'; style-src 'sha256-${stylesheetHash}'; base-uri 'none'; frame-ancestors 'none'`,
    );
    assert.equal(headers.get("referrer-policy"), "same-origin");
    assert.equal(headers.get("cache-control"), "no-store");
  });

  it("accepts only its own form for the same flow and state", async (t) => {
    const emulator = await startTestEmulator(t);
    const page = String((await emulator.router("GET", "/_emulator/provider?flow=trial&provider=P&state=s")).body);
    const submit =
      (changes: object, headers = {}) =>
      () =>
        emulator.router("POST", "/_emulator/provider", {
          body: String(new URLSearchParams({ ...getHiddenFields(page), email: "z@n.example", ...changes })),
          headers: { ...form, ...headers },
        });
    const stale = {
      status: 403,
      body: {
        error: { code: "stale_form", message: "The form was not made by this emulator.", hint: "Load the page again." },
      },
    };
    await assertRejected(emulator, submit({ form_token: "guess" }), stale);
    await assertRejected(emulator, submit({ state: "other" }), stale);
    await assertRejected(emulator, submit({ flow: "login" }), stale);
    assert.equal((await submit({}, { origin: "https://evil.example" })()).status, 403);
    assert.equal((await submit({}, { "sec-fetch-site": "cross-site" })()).status, 403);
    const secondResponse = await submit({ email: "nobody" })();
    assert.equal(secondResponse.status, 200);
    assert.match(String(secondResponse.body), /The e-mail address is not valid/);
    assert.deepEqual(getHiddenFields(String(secondResponse.body)), getHiddenFields(page));
    assert.equal((await submit({}, { origin: emulator.routerUrl, "sec-fetch-site": "same-origin" })()).status, 303);
  });
});
