import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";
import { deviceGrantType } from "../../../support/identity/devices.ts";
import { formHeaders } from "../../../support/identity/sign-in.ts";
import type { Receiver } from "../../../support/receiver.ts";
import { startReceiver } from "../../../support/receiver.ts";
import { startRoutedEmulator } from "../../../support/routed-emulator.ts";

const keysPath = "/.well-known/jwks.json";
const configurationPath = "/.well-known/openid-configuration";
const metadataPath = "/.well-known/oauth-authorization-server";
const tokenPath = "/api/v1/oauth/token/";
const userinfoPath = "/api/v1/oauth/userinfo/";

const setResponse = (cluster: Receiver, body: unknown, status = 200) =>
  cluster.respond((_, response) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)),
  );
const breakCluster = (cluster: Receiver) => cluster.respond((_, response) => response.destroy());
const noCluster = { status: 502, body: { detail: "No cluster is reachable" } };
const loop = {
  status: 508,
  body: { detail: "The request was forwarded by this router already; a cluster URL points at the router itself" },
};

describe("OpenID key set", () => {
  const eu = { kty: "RSA", kid: "eu", use: "sig", alg: "RS256", n: "AQ", e: "AQAB" };
  const us = { kty: "EC", kid: "us", crv: "P-256", x: "AQ", y: "Ag" };

  it("contains the keys of all clusters without caching", async (t) => {
    const emulator = await startRoutedEmulator(t);
    setResponse(emulator.eu, { keys: [eu] });
    setResponse(emulator.us, { keys: [us] });
    const first = await emulator.router("GET", keysPath);
    assert.deepEqual(pickStatusAndBody(first), { status: 200, body: { keys: [eu, us] } });
    assert.equal(first.headers.get("cache-control"), "no-store");
    setResponse(emulator.eu, { keys: [] });
    assert.deepEqual((await emulator.router("GET", keysPath)).body, { keys: [us] });
    assert.deepEqual(
      emulator.listForwarded(),
      ["eu", "eu", "us", "us"].map((name) => `${name} GET ${keysPath}`),
    );
  });

  it("contains only public keys, without duplicates", async (t) => {
    const emulator = await startRoutedEmulator(t);
    setResponse(emulator.eu, {
      keys: [{ ...eu, d: "secret", p: "secret", q: "secret" }, { kty: "oct", k: "secret" }, 7],
    });
    setResponse(emulator.us, { keys: [eu] });
    assert.deepEqual((await emulator.router("GET", keysPath)).body, { keys: [eu] });
  });

  for (const [label, disrupt] of [
    ["is down", breakCluster],
    ["responds with 500", (cluster: Receiver) => setResponse(cluster, { keys: [us] }, 500)],
    ["returns no key set", (cluster: Receiver) => setResponse(cluster, { detail: "x" })],
    [
      "returns an oversized response",
      (cluster: Receiver) => setResponse(cluster, { keys: [us], more: "x".repeat(1 << 20) }),
    ],
  ] as const) {
    it(`omits and reports a cluster that ${label}`, async (t) => {
      const emulator = await startRoutedEmulator(t);
      setResponse(emulator.eu, { keys: [eu] });
      disrupt(emulator.us);
      assert.deepEqual((await emulator.router("GET", keysPath)).body, { keys: [eu] });
      const log = (await emulator.control("GET", "requests?operation=oidc.jwks")).body as {
        items: { findings: unknown }[];
      };
      assert.deepEqual(log.items[0]!.findings, [{ code: "keys-missing", detail: "us-1 returned no keys" }]);
    });
  }

  for (const path of [keysPath, "/.well-known/openid-configuration"]) {
    it(`does not wait for an unresponsive cluster: ${path}`, { timeout: 20_000 }, async (t) => {
      const emulator = await startRoutedEmulator(t, { upstreamTimeoutMs: 600_000 });
      emulator.eu.respond((_, response) => void response.write("{"));
      setResponse(emulator.us, { keys: [us], issuer: emulator.us.url });
      assert.equal((await emulator.router("GET", path)).status, 200);
      const { items } = (await emulator.control("GET", "requests?limit=1&service=router")).body as {
        items: { findings: { code: string; detail: string }[] }[];
      };
      const missing =
        path === keysPath
          ? { code: "keys-missing", detail: "eu-1 returned no keys" }
          : { code: "configuration-missing", detail: "eu-1 returned no OpenID configuration" };
      assert.deepEqual(items[0]!.findings, [missing]);
    });
  }

  it("returns a gateway error if no cluster responds", async (t) => {
    const emulator = await startRoutedEmulator(t);
    breakCluster(emulator.eu);
    breakCluster(emulator.us);
    assert.deepEqual(pickStatusAndBody(await emulator.router("GET", keysPath)), noCluster);
  });
});

describe("OpenID configuration", () => {
  it("comes from the first cluster, with the router's URLs", async (t) => {
    const emulator = await startRoutedEmulator(t, { publicUrl: "https://router.example" });
    setResponse(emulator.eu, {
      issuer: `${emulator.eu.url}/`,
      authorization_endpoint: "https://elsewhere.example/authorize",
      token_endpoint: `${emulator.eu.url}/token`,
      end_session_endpoint: `${emulator.eu.url}/logout?x=1`,
      op_policy_uri: "https://policy.example/",
      scopes_supported: ["openid", "contracts"],
      response_types_supported: ["code"],
      id_token_signing_alg_values_supported: ["RS256", "ES256"],
    });
    const response = await emulator.router("GET", configurationPath);
    assert.deepEqual(pickStatusAndBody(response), {
      status: 200,
      body: {
        issuer: "https://router.example",
        authorization_endpoint: "https://router.example/api/v1/oauth/authorize/",
        token_endpoint: "https://router.example/api/v1/oauth/token/",
        end_session_endpoint: "https://router.example/logout?x=1",
        op_policy_uri: "https://policy.example/",
        scopes_supported: ["openid", "contracts"],
        response_types_supported: ["code"],
        id_token_signing_alg_values_supported: ["RS256", "ES256"],
        userinfo_endpoint: "https://router.example/api/v1/oauth/userinfo/",
        jwks_uri: "https://router.example/.well-known/jwks.json",
        device_authorization_endpoint: "https://router.example/router/v1/oauth2.0/device/code/",
        grant_types_supported: ["authorization_code", "implicit", deviceGrantType],
      },
    });
    assert.equal(response.headers.get("cache-control"), "no-store");
    assert.deepEqual(emulator.listForwarded(), [`eu GET ${configurationPath}`]);
  });

  it("falls back to the next cluster, then to a gateway error", async (t) => {
    const emulator = await startRoutedEmulator(t);
    setResponse(emulator.eu, [], 200);
    setResponse(emulator.us, { issuer: emulator.us.url, scopes_supported: ["us"] });
    const { body } = await emulator.router("GET", configurationPath);
    assert.deepEqual((body as { scopes_supported: unknown }).scopes_supported, ["us"]);
    breakCluster(emulator.us);
    assert.deepEqual(pickStatusAndBody(await emulator.router("GET", configurationPath)), noCluster);
  });
});

describe("metadata of the OAuth server", () => {
  it("contains the OAuth part of the OpenID configuration", async (t) => {
    const { router, routerUrl } = await startTestEmulator(t);
    const { body: configuration } = await router("GET", configurationPath);
    const response = await router("GET", metadataPath);
    const common = {
      issuer: routerUrl,
      authorization_endpoint: `${routerUrl}/api/v1/oauth/authorize/`,
      token_endpoint: `${routerUrl}${tokenPath}`,
      jwks_uri: `${routerUrl}${keysPath}`,
      device_authorization_endpoint: `${routerUrl}/router/v1/oauth2.0/device/code/`,
      scopes_supported: ["openid", "profile", "email", "offline_access"],
      response_types_supported: ["code"],
      response_modes_supported: ["query"],
      grant_types_supported: ["authorization_code", "refresh_token", deviceGrantType],
      token_endpoint_auth_methods_supported: ["none", "client_secret_basic", "client_secret_post"],
      code_challenge_methods_supported: ["S256"],
      authorization_response_iss_parameter_supported: true,
    };
    assert.deepEqual(pickStatusAndBody(response), { status: 200, body: common });
    assert.equal(response.headers.get("cache-control"), "no-store");
    assert.deepEqual(configuration, {
      ...common,
      userinfo_endpoint: `${routerUrl}${userinfoPath}`,
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256"],
      prompt_values_supported: ["none", "login", "select_account"],
      request_parameter_supported: false,
      request_uri_parameter_supported: false,
      claims_supported: [
        ...["iss", "sub", "aud", "exp", "iat", "auth_time", "nonce"],
        ...["name", "email", "email_verified", "cluster"],
      ],
    });
  });

  it("falls back to the next cluster, then to a gateway error", async (t) => {
    const emulator = await startRoutedEmulator(t);
    breakCluster(emulator.eu);
    setResponse(emulator.us, { issuer: emulator.us.url, scopes_supported: ["us"], claims_supported: ["sub"] });
    const { body } = await emulator.router("GET", `${metadataPath}?x=1`);
    const { scopes_supported, claims_supported } = body as Record<string, unknown>;
    assert.deepEqual([scopes_supported, claims_supported], [["us"], undefined]);
    assert.deepEqual(emulator.listForwarded(), [`eu GET ${configurationPath}`, `us GET ${configurationPath}`]);
    breakCluster(emulator.us);
    assert.deepEqual(pickStatusAndBody(await emulator.router("GET", metadataPath)), noCluster);
  });
});

describe("a token request", () => {
  it("is forwarded unchanged to the longest cluster ID that prefixes its code", async (t) => {
    const [eu, west] = [await startReceiver(t), await startReceiver(t)];
    const emulator = await startRoutedEmulator(t, {
      seed: {
        clusters: [
          { id: "eu", label: "eu", external_url: eu.url },
          { id: "eu_west", label: "eu", external_url: west.url },
        ],
      },
    });
    const form = { "content-type": "application/x-www-form-urlencoded" };
    const send = (body: string | object, headers = {}) => emulator.router("POST", tokenPath, { body, headers });
    setResponse(eu, { by: "eu" });
    setResponse(west, { error: "invalid_grant" }, 400);
    assert.deepEqual(pickStatusAndBody(await send("grant_type=authorization_code&code=eu_c%20d&x=1", form)), {
      status: 200,
      body: { by: "eu" },
    });
    assert.deepEqual(pickStatusAndBody(await send({ grant_type: "refresh_token", refresh_token: "eu_west_r" })), {
      status: 400,
      body: { error: "invalid_grant" },
    });
    assert.deepEqual(
      [eu, west].map(({ received }) => received.map(({ body }) => body.toString())),
      [
        ["grant_type=authorization_code&code=eu_c%20d&x=1"],
        ['{"grant_type":"refresh_token","refresh_token":"eu_west_r"}'],
      ],
    );
  });

  const rejectedRequests: [object | undefined, object][] = [
    [undefined, { error: "invalid_request", error_description: "grant_type is missing" }],
    [{ code: "eu-1_c" }, { error: "invalid_request", error_description: "grant_type is missing" }],
    [{ grant_type: "authorization_code" }, { error: "invalid_request", error_description: "code is missing" }],
    [{ grant_type: "refresh_token" }, { error: "invalid_request", error_description: "refresh_token is missing" }],
    [{ grant_type: "password", code: "eu-1_c" }, { error: "unsupported_grant_type" }],
    [{ grant_type: "constructor", code: "eu-1_c" }, { error: "unsupported_grant_type" }],
    [{ grant_type: "authorization_code", code: "ap-9_c" }, { error: "invalid_grant" }],
    [{ grant_type: "authorization_code", code: "eu-1" }, { error: "invalid_grant" }],
    [{ grant_type: "refresh_token", refresh_token: "none" }, { error: "invalid_grant" }],
  ];
  for (const [body, rejection] of rejectedRequests) {
    it(`is rejected for ${JSON.stringify(body)} with ${JSON.stringify(rejection)}`, async (t) => {
      const emulator = await startRoutedEmulator(t);
      const response = await emulator.router("POST", tokenPath, body && { body });
      assert.deepEqual(pickStatusAndBody(response), { status: 400, body: rejection });
      assert.equal(response.headers.get("cache-control"), "no-store");
      assert.deepEqual(emulator.listForwarded(), []);
    });
  }

  const notOne = "The body is neither a form nor a JSON object";
  const unreadable: [type: string, body: string | Buffer, reason: string][] = [
    ["application/json", "[]", notOne],
    ["application/json", "5", notOne],
    ["application/json", "{", notOne],
    ["application/json", Buffer.from([0x7b, 0xff, 0x7d]), notOne],
    ["text/plain", "grant_type=refresh_token", notOne],
    ["application/json", '{"grant_type":1}', "grant_type is not a string"],
    ["application/json", '{"grant_type":"refresh_token","refresh_token":null}', "refresh_token is not a string"],
    [formHeaders["content-type"], "grant_type=refresh_token&grant_type=refresh_token", "grant_type is repeated"],
    [formHeaders["content-type"], "grant_type=refresh_token&resource=a&resource=b", "refresh_token is missing"],
  ];
  for (const [type, body, error_description] of unreadable) {
    it(`is an invalid_request with the body ${body} as ${type}`, async (t) => {
      const emulator = await startRoutedEmulator(t);
      const response = await emulator.router("POST", tokenPath, { body, headers: { "content-type": type } });
      assert.deepEqual(pickStatusAndBody(response), {
        status: 400,
        body: { error: "invalid_request", error_description },
      });
      assert.deepEqual(emulator.listForwarded(), []);
    });
  }

  it("is documented without a validation error", async (t) => {
    const emulator = await startRoutedEmulator(t);
    const document = (await emulator.control("GET", "openapi/router.json")).body as {
      paths: Record<string, { post: { responses: object } }>;
    };
    const statuses = Object.keys(document.paths[tokenPath]!.post.responses);
    assert.deepEqual(statuses, ["200", "400", "401", "413", "502", "503", "504", "508", "default"]);
  });

  it("returns a gateway error if the cluster is down or slow", async (t) => {
    const emulator = await startRoutedEmulator(t, { upstreamTimeoutMs: 1_000 });
    const send = async () =>
      pickStatusAndBody(
        await emulator.router("POST", tokenPath, { body: { grant_type: "refresh_token", refresh_token: "us-1_r" } }),
      );
    breakCluster(emulator.us);
    assert.deepEqual(await send(), { status: 502, body: { detail: "Cluster us-1 is unreachable" } });
    emulator.us.respond(() => {});
    assert.deepEqual(await send(), { status: 504, body: { detail: "Cluster us-1 did not answer in time" } });
  });
});

describe("userinfo request", () => {
  const jwt = (claims: unknown) =>
    ["eyJhbGciOiJub25lIn0", Buffer.from(JSON.stringify(claims)).toString("base64url"), "wrong"].join(".");

  for (const token of [jwt({ cluster: "us-1" }), `us-1_${jwt({ cluster: "us-1" })}`]) {
    it("is forwarded unchanged to the cluster in the unverified token", async (t) => {
      const emulator = await startRoutedEmulator(t);
      setResponse(emulator.us, { sub: "31" });
      const response = await emulator.router("GET", userinfoPath, { headers: { authorization: `Bearer ${token}` } });
      assert.deepEqual(pickStatusAndBody(response), { status: 200, body: { sub: "31" } });
      assert.equal(emulator.us.received[0]!.headers.authorization, `Bearer ${token}`);
      assert.deepEqual(emulator.eu.received, []);
    });
  }

  for (const authorization of [undefined, "Bearer", "Bearer ", `Basic ${jwt({ cluster: "us-1" })}`]) {
    it(`is rejected without an error code (RFC 6750, 3.1) for ${authorization}`, async (t) => {
      const emulator = await startRoutedEmulator(t);
      const response = await emulator.router("GET", userinfoPath, authorization ? { headers: { authorization } } : {});
      assert.deepEqual(pickStatusAndBody(response), { status: 401, body: { detail: "Not authenticated" } });
      assert.equal(response.headers.get("www-authenticate"), 'Bearer realm="oauth"');
      assert.deepEqual(emulator.listForwarded(), []);
    });
  }

  const bad = ["Bearer x", "Bearer x y", `Bearer ${jwt({ cluster: "ap-9" })}`];
  for (const authorization of [...bad, `Bearer ${jwt({})}`, `Bearer ${jwt([])}`, `Bearer us-1_${"x"}`]) {
    it(`is rejected for the invalid token ${authorization}`, async (t) => {
      const emulator = await startRoutedEmulator(t);
      const response = await emulator.router("GET", userinfoPath, { headers: { authorization } });
      assert.deepEqual(pickStatusAndBody(response), { status: 401, body: { detail: "Invalid access token" } });
      assert.equal(response.headers.get("www-authenticate"), 'Bearer error="invalid_token"');
      assert.deepEqual(emulator.listForwarded(), []);
    });
  }
});

it("the router detects a cluster URL that is its own", async (t) => {
  const front = await startReceiver(t);
  const emulator = await startRoutedEmulator(t, {
    seed: { clusters: [{ id: "eu-1", label: "eu", external_url: front.url }] },
  });
  front.respond(async ({ headers }, response) => {
    const { via = "" } = headers;
    const keyResponse = await fetch(`${emulator.routerUrl}${keysPath}`, { headers: { via: String(via) } });
    response
      .writeHead(200)
      .end(JSON.stringify({ keys: [{ kty: "x", status: keyResponse.status, body: await keyResponse.json() }] }));
  });
  const { body } = await emulator.router("GET", keysPath);
  assert.deepEqual(body, { keys: [{ kty: "x", ...loop }] });
});
