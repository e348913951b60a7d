import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { getLinks } from "../../../support/identity/forms.ts";
import {
  authorizationRequest,
  authorize,
  authorizePath,
  callbackUrl,
  decodeJwtPart,
  formatParameters,
  getRedirectParameters,
  getUserinfo,
  listFindings,
  type ParameterChanges,
  requestToken,
  signIn,
  type Tokens,
} from "../../../support/identity/sign-in.ts";

const ada = "ada@northwind.example";
const eli = "eli@fabrikam.example";

describe("authorization request", () => {
  it("lists the users of all clusters with a sign-in link for each", async (t) => {
    const emulator = await startTestEmulator(t);
    const { status, headers, body } = await authorize(emulator);
    assert.equal(status, 200);
    assert.match(headers.get("content-type")!, /^text\/html/);
    assert.match(headers.get("content-security-policy")!, /frame-ancestors 'none'$/);
    const users = getLinks(String(body)).map((link) => new URLSearchParams(link.slice(1)).get("svc_user"));
    assert.deepEqual(users, [ada, "ben@northwind.example", "dina@contoso.example", eli]);
    for (const [i, cluster] of [
      [0, "eu-1"],
      [3, "us-1"],
    ] as const) {
      const link = getLinks(String(body))[i]!;
      const response = await emulator.router("GET", `${authorizePath}${link}`);
      assert.equal(response.status, 302);
      const { code, ...rest } = getRedirectParameters(response);
      assert.match(code!, new RegExp(`^${cluster}_[\\w-]{43}$`));
      assert.deepEqual(rest, { "": callbackUrl, state: authorizationRequest.state, iss: emulator.routerUrl });
    }
  });

  it("redirects a browser to the router if the request for another cluster reached this one directly", async (t) => {
    const emulator = await startTestEmulator(t);
    const query = formatParameters(authorizationRequest, { cluster_id: "us-1", svc_user: eli });
    const response = await fetch(`${emulator.clusters[0]!.url}${authorizePath}?${query}`, { redirect: "manual" });
    assert.equal(response.status, 302);
    assert.equal(response.headers.get("location"), `${emulator.routerUrl}${authorizePath}?${query}`);
  });

  it("accepts a POST form", async (t) => {
    const emulator = await startTestEmulator(t);
    const response = await emulator.router("POST", authorizePath, {
      body: formatParameters(authorizationRequest, { svc_user: ada }),
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    assert.equal(response.status, 302);
    assert.match(getRedirectParameters(response).code!, /^eu-1_/);
  });

  it("preserves the client's query byte for byte, and adds no state", async (t) => {
    const emulator = await startTestEmulator(t);
    const iss = encodeURIComponent(emulator.routerUrl);
    for (const [redirect_uri, more] of [
      [callbackUrl, "?"],
      [`${callbackUrl}?a=1%202&b=%7e~+&b&c=%2F/@:&a='*%c3%bc`, "&"],
      ["http://localhost:8123", "?"],
      ["http://127.0.0.1:8123/a/../%62", "?"],
    ] as const) {
      const location = async (changes: ParameterChanges) =>
        (await authorize(emulator, { redirect_uri, state: undefined, ...changes })).headers.get("location")!;
      assert.equal(await location({ prompt: "none" }), `${redirect_uri}${more}error=login_required&iss=${iss}`);
      const code = (await location({ svc_user: ada })).replace(/eu-1_[\w-]+/, "CODE");
      assert.equal(code, `${redirect_uri}${more}code=CODE&iss=${iss}`);
    }
  });

  it("shows an error page for a user who is not active in any cluster", async (t) => {
    const emulator = await startTestEmulator(t);
    for (const svc_user of ["nobody@x.example", "cleo@northwind.example"]) {
      const { status, body, headers } = await authorize(emulator, { svc_user });
      assert.deepEqual([status, headers.get("location")], [404, null]);
      assert.match(String(body), /Cluster eu-1 has no active user/);
    }
  });

  const redirect_uris = ["https://app.example/cb", "http://127.0.0.1:1/cb?x=1", "http://a.localhost:1/cb"];
  const clients = [
    { client_id: "web", client_name: "Web", redirect_uris },
    { client_id: "demo-cli", client_name: "<i>Any</i>" },
  ];
  const redirects: [string, string | undefined, boolean][] = [
    ["web", "https://app.example/cb", true],
    ["web", "https://app.example/cb2", false],
    ["web", "https://app.example:444/cb", false],
    ["web", "http://127.0.0.1:55555/cb?x=1", true],
    ["web", "http://127.0.0.1:55555/cb", false],
    ["web", "http://127.0.0.1:55555/", false],
    ["web", "http://a.localhost:1/cb", true],
    ["web", "http://b.localhost:1/cb", false],
    ["web", undefined, false],
    ["demo-cli", "http://localhost:3000/", true],
    ["demo-cli", "http://[::1]:3000/", true],
    ["demo-cli", "https://anything.example/x", true],
    ["demo-cli", "http://anything.example/x", false],
    ["demo-cli", "http://127.0.0.1.evil.example/", false],
    ["demo-cli", "http://localhost.evil.example/", false],
    ["demo-cli", "http://evillocalhost/", false],
    ["demo-cli", "https://me@anything.example/", false],
    ["demo-cli", "http://localhost:3000/#x", false],
    ["demo-cli", "javascript:alert(1)", false],
    ["demo-cli", "/relative", false],
    ["demo-cli", "http://localhost:3000/?a=1&state=mine", false],
    ["demo-cli", "http://localhost:3000/?co%64e=x", false],
    ["demo-cli", "http://localhost:3000/a b", false],
    ["demo-cli", "http://localhost:3000/\r\nset-cookie:%20a=b", false],
    ["demo-cli", "http://localhost:3000/ü", false],
    ["demo-cli", "http://localhost:3000\\@anything.example/", false],
  ];
  for (const [client_id, redirect_uri, allowed] of redirects) {
    it(`${allowed ? "redirects" : "does not redirect"} ${client_id} to ${redirect_uri}`, async (t) => {
      const seed = { clusters: [{ id: "eu-1", label: "eu" }], oauth_clients: clients };
      const emulator = await startTestEmulator(t, { seed });
      const response = await authorize(emulator, { client_id, redirect_uri, prompt: "none" });
      assert.equal(response.status, allowed ? 302 : 400);
      if (allowed) assert.ok(response.headers.get("location")!.startsWith(redirect_uri!));
      else assert.match(String(response.body), /redirect_uri is missing or not allowed for this client/);
    });
  }

  it("shows an error page for an unknown client, with escaped text", async (t) => {
    const emulator = await startTestEmulator(t);
    for (const client_id of [undefined, "<script>"]) {
      const { status, body, headers } = await authorize(emulator, { client_id });
      assert.deepEqual([status, headers.get("location")], [400, null]);
      assert.match(String(body), /Client .* not found/);
      assert.doesNotMatch(String(body), /<script/);
    }
  });

  const invalid = (error_description: string) => ({ error: "invalid_request", error_description });
  const problems: [Record<string, string | undefined>, object][] = [
    [{ response_type: undefined }, invalid("response_type is missing")],
    [{ response_type: "token" }, { error: "unsupported_response_type" }],
    [{ response_mode: "form_post" }, invalid("response_mode must be query")],
    [{ code_challenge: undefined }, invalid("code_challenge is missing: PKCE is required")],
    [{ code_challenge_method: undefined }, invalid("code_challenge_method must be S256")],
    [{ code_challenge_method: "plain" }, invalid("code_challenge_method must be S256")],
    [{ code_challenge: "short" }, invalid("code_challenge is not an S256 challenge")],
    [{ request: "ey" }, { error: "request_not_supported" }],
    [{ request: "ey", response_type: undefined }, { error: "request_not_supported" }],
    [{ request_uri: "https://app.example/request" }, { error: "request_uri_not_supported" }],
    [{ registration: "{}" }, { error: "registration_not_supported" }],
    [{ prompt: "none login" }, invalid("prompt must be none, or must not include none")],
    [{ max_age: "soon" }, invalid("max_age must be a number of seconds")],
    [{ max_age: "-1" }, invalid("max_age must be a number of seconds")],
    [{ id_token_hint: "e30.e30.e30" }, invalid("id_token_hint is not an ID token of this issuer")],
    [{ prompt: "none" }, { error: "login_required" }],
  ];
  for (const [changes, problem] of problems) {
    it(`redirects ${JSON.stringify(changes)} to the client with ${JSON.stringify(problem)}`, async (t) => {
      const emulator = await startTestEmulator(t);
      const response = await authorize(emulator, changes);
      assert.equal(response.status, 302);
      assert.deepEqual(getRedirectParameters(response), {
        "": callbackUrl,
        ...problem,
        state: authorizationRequest.state,
        iss: emulator.routerUrl,
      });
    });
  }
});

describe("nonce", () => {
  it("has at most 1,000 characters", async (t) => {
    const emulator = await startTestEmulator(t);
    const describeProblem = async (length: number) =>
      getRedirectParameters(await authorize(emulator, { nonce: "n".repeat(length), prompt: "none" })).error_description;
    assert.equal(await describeProblem(1_001), "nonce has more than 1,000 characters");
    assert.notEqual(await describeProblem(1_000), "nonce has more than 1,000 characters");
  });
});

describe("repeated parameter", () => {
  const target = (more: string) => `${authorizePath}?${formatParameters(authorizationRequest, {})}&${more}`;

  it("redirects to the client with invalid_request", async (t) => {
    const emulator = await startTestEmulator(t);
    const response = await emulator.router("GET", target("scope=openid"));
    assert.equal(response.status, 302);
    assert.deepEqual(getRedirectParameters(response), {
      "": callbackUrl,
      error: "invalid_request",
      error_description: "scope is repeated",
      state: authorizationRequest.state,
      iss: emulator.routerUrl,
    });
  });

  for (const more of ["client_id=demo-web", `redirect_uri=${encodeURIComponent("http://127.0.0.1:9/other")}`]) {
    it(`shows an error page if the redirect target is ambiguous: ${more}`, async (t) => {
      const emulator = await startTestEmulator(t);
      const { status, body, headers } = await emulator.router("GET", target(more));
      assert.deepEqual([status, headers.get("location")], [400, null]);
      assert.match(String(body), /is repeated/);
    });
  }
});

describe("OAuth scope", () => {
  it("grants known scopes and records a finding for unknown ones", async (t) => {
    const emulator = await startTestEmulator(t);
    const { scope, refresh_token } = await signIn(emulator, ada, { scope: "openid contracts:read email admin" });
    assert.equal(scope, "openid email");
    assert.deepEqual(await listFindings(emulator, "eu-1"), [{ code: "scope-ignored", detail: "contracts:read admin" }]);
    const fields = { grant_type: "refresh_token", refresh_token, client_id: "demo-cli", scope: "email contracts:read" };
    const refreshed = (await requestToken(emulator, fields)).body as Tokens;
    assert.equal(refreshed.scope, "email");
  });

  it("grants only the subject if all scopes are unknown", async (t) => {
    const emulator = await startTestEmulator(t);
    const { scope, id_token, access_token } = await signIn(emulator, ada, { scope: "contracts:read" });
    assert.deepEqual([scope, id_token], ["", undefined]);
    assert.deepEqual((await getUserinfo(emulator, access_token)).body, { sub: "11", cluster: "eu-1" });
  });
});

describe("sign-in session", () => {
  const begin = async (emulator: Parameters<typeof authorize>[0], svc_user: string) => {
    const [cookie, ...attributes] = (await authorize(emulator, { svc_user })).headers.get("set-cookie")!.split("; ");
    return { cookie: cookie!, attributes };
  };
  const hour = 3_600_000;

  it("starts with a sign-in and skips the next one at any cluster", async (t) => {
    const emulator = await startTestEmulator(t);
    for (const [email, cluster] of [
      [ada, "eu-1"],
      [eli, "us-1"],
    ] as const) {
      const { cookie, attributes } = await begin(emulator, email);
      assert.deepEqual(attributes, ["Path=/api/v1/oauth/", "Max-Age=43200", "HttpOnly", "SameSite=Lax"]);
      for (const prompt of [undefined, "none"]) {
        const response = await authorize(emulator, { prompt }, { headers: { cookie: `other=1; ${cookie}` } });
        assert.equal(response.status, 302);
        assert.match(getRedirectParameters(response).code ?? "", new RegExp(`^${cluster}_`));
        assert.equal(response.headers.get("set-cookie"), null);
      }
    }
  });

  it("gives way to svc_user, also at another cluster", async (t) => {
    const emulator = await startTestEmulator(t);
    const { cookie } = await begin(emulator, ada);
    for (const login_hint of [undefined, ada]) {
      const response = await authorize(emulator, { svc_user: eli, login_hint }, { headers: { cookie } });
      assert.match(getRedirectParameters(response).code ?? "", /^us-1_/);
    }
  });

  it("scopes its cookie to the proxy's path of the router", async (t) => {
    const emulator = await startTestEmulator(t, { publicUrl: "https://sandbox.example/twin" });
    const { attributes } = await begin(emulator, ada);
    assert.equal(attributes[0], "Path=/twin/api/v1/oauth/");
  });

  it("does not skip a sign-in that the client requires", async (t) => {
    const emulator = await startTestEmulator(t);
    const { cookie } = await begin(emulator, ada);
    const status = async (changes: Record<string, string>) =>
      (await authorize(emulator, { ...changes, login_hint: ada }, { headers: { cookie } })).status;
    assert.equal(await status({ prompt: "login" }), 200);
    assert.equal(await status({ prompt: "select_account" }), 200);
    await emulator.clock.advance({ by: 61_000 });
    assert.equal(await status({ max_age: "61" }), 302);
    assert.equal(await status({ max_age: "60" }), 200);
  });

  it("does not skip a sign-in with max_age=0, even without elapsed time", async (t) => {
    const emulator = await startTestEmulator(t);
    const { cookie } = await begin(emulator, ada);
    const headers = { cookie };
    assert.equal((await authorize(emulator, { max_age: "0" }, { headers })).status, 200);
    const silent = await authorize(emulator, { max_age: "0", prompt: "none" }, { headers });
    assert.equal(getRedirectParameters(silent).error, "login_required");
  });

  it("rejects prompt=none at a cluster where the user is unknown", async (t) => {
    const emulator = await startTestEmulator(t);
    const { cookie } = await begin(emulator, eli);
    await emulator.router("POST", "/router/v1/cluster_clients/bulk", {
      body: { client_ids: ["demo-cli"], cluster_id: "eu-1" },
    });
    const silent = await authorize(emulator, { prompt: "none" }, { headers: { cookie } });
    assert.deepEqual([silent.status, getRedirectParameters(silent).error], [302, "login_required"]);
    assert.equal((await authorize(emulator, {}, { headers: { cookie } })).status, 200);
  });

  it("remains when the same browser signs in at another emulator of this machine", async (t) => {
    const emulators = [await startTestEmulator(t), await startTestEmulator(t)];
    const jar = new Map<string, string>();
    for (const emulator of emulators) {
      const [name = "", value = ""] = (await begin(emulator, ada)).cookie.split("=");
      jar.set(name, value);
    }
    const cookie = [...jar].map((pair) => pair.join("=")).join("; ");
    for (const emulator of emulators) {
      const silent = await authorize(emulator, { prompt: "none" }, { headers: { cookie } });
      assert.equal(getRedirectParameters(silent).error, undefined);
    }
  });

  it("expires after twelve virtual hours", async (t) => {
    const emulator = await startTestEmulator(t);
    const { cookie } = await begin(emulator, ada);
    const silent = async () =>
      getRedirectParameters(await authorize(emulator, { prompt: "none", login_hint: ada }, { headers: { cookie } }))
        .error;
    await emulator.clock.advance({ by: 12 * hour - 1 });
    assert.equal(await silent(), undefined);
    await emulator.clock.advance({ by: 1 });
    assert.equal(await silent(), "login_required");
  });

  it("rejects an unknown state", async (t) => {
    const emulator = await startTestEmulator(t);
    const cookie = `svc_session${new URL(emulator.routerUrl).port}=eu-1_guess`;
    const response = await authorize(emulator, { prompt: "none", login_hint: ada }, { headers: { cookie } });
    assert.equal(getRedirectParameters(response).error, "login_required");
  });
});

describe("id_token_hint", () => {
  const cookieOf = async (emulator: TestEmulator, svc_user: string) =>
    (await authorize(emulator, { svc_user })).headers.get("set-cookie")!.split("; ")[0]!;

  it("signs in the named user at any cluster, even after it expired", async (t) => {
    const emulator = await startTestEmulator(t);
    for (const [email, cluster] of [
      [ada, "eu-1"],
      [eli, "us-1"],
    ] as const) {
      const { id_token } = await signIn(emulator, email);
      const cookie = await cookieOf(emulator, email);
      await emulator.clock.advance({ by: 2 * 3_600_000 });
      const silent = { prompt: "none", id_token_hint: id_token };
      const response = await authorize(emulator, silent, { headers: { cookie } });
      assert.match(getRedirectParameters(response).code ?? "", new RegExp(`^${cluster}_`));
    }
  });

  it("returns login_required with prompt=none if another user is signed in", async (t) => {
    const emulator = await startTestEmulator(t);
    const required = {
      "": callbackUrl,
      error: "login_required",
      state: authorizationRequest.state,
      iss: emulator.routerUrl,
    };
    for (const [signedIn, hinted] of [
      ["ben@northwind.example", ada],
      [eli, ada],
      [ada, eli],
    ] as const) {
      const { id_token } = await signIn(emulator, hinted);
      const headers = { cookie: await cookieOf(emulator, signedIn) };
      const silent = await authorize(emulator, { prompt: "none", id_token_hint: id_token }, { headers });
      assert.deepEqual([silent.status, getRedirectParameters(silent)], [302, required], `${signedIn} for ${hinted}`);
    }
  });

  it("prompts for a sign-in as the named user if another user is signed in", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id_token } = await signIn(emulator, ada);
    const headers = { cookie: await cookieOf(emulator, "ben@northwind.example") };
    const page = await authorize(emulator, { id_token_hint: id_token }, { headers });
    assert.equal(page.status, 200);
    const links = getLinks(String(page.body));
    const choose = async (at: number) =>
      getRedirectParameters(await emulator.router("GET", `${authorizePath}${links[at]}`));
    assert.match((await choose(0)).code ?? "", /^eu-1_/);
    for (const workspaceId of [1, 3]) assert.equal((await choose(workspaceId)).error, "login_required");
  });

  it("rejects an access token and an altered ID token as invalid_request", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id_token, access_token } = await signIn(emulator, ada);
    const [head, , signature] = id_token.split(".");
    const claims = Buffer.from(JSON.stringify({ ...decodeJwtPart(id_token, 1), sub: "31" })).toString("base64url");
    for (const id_token_hint of [access_token, `${head}.${claims}.${signature}`]) {
      assert.equal(getRedirectParameters(await authorize(emulator, { id_token_hint })).error, "invalid_request");
    }
  });
});
