import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatBasicHeader } from "../../../../src/schemes/http-authorization.ts";
import {
  createSender,
  pickStatusAndBody,
  startTestEmulator,
  type TestEmulator,
  type TestRequest,
} from "../../../support/emulator.ts";
import {
  callbackUrl,
  confidentialClientSeed,
  createExchangeFields,
  decodeJwtPart,
  formatParameters,
  formHeaders,
  getAuthorizationCode,
  getUserinfo,
  type ParameterChanges,
  pkceVerifier,
  requestToken,
  signIn,
  type Tokens,
  tokenPath,
} from "../../../support/identity/sign-in.ts";
import { assertRejected } from "../../../support/rejections.ts";

const ada = "ada@northwind.example";
const eli = "eli@fabrikam.example";
const now = Date.parse("2031-01-02T03:04:05Z") / 1_000;
const tokenError = (error: string, error_description: string, status = 400) => ({
  status,
  body: { error, error_description },
});

describe("authorization code", () => {
  it("returns tokens that state the user, the sign-in time and the cluster", async (t) => {
    const emulator = await startTestEmulator(t);
    const code = await getAuthorizationCode(emulator, eli, { nonce: "n-0S6", scope: "openid email" });
    await emulator.clock.advance({ by: 60_000 });
    const response = await requestToken(emulator, createExchangeFields(code));
    assert.equal(response.headers.get("cache-control"), "no-store");
    const { access_token, refresh_token, id_token, ...rest } = response.body as Tokens;
    assert.deepEqual(
      { status: response.status, rest },
      { status: 200, rest: { token_type: "Bearer", expires_in: 3_600, scope: "openid email" } },
    );
    assert.match(refresh_token, /^us-1_[\w-]{43}$/);
    const common = { iss: emulator.routerUrl, sub: "31", cluster: "us-1", iat: now + 60, exp: now + 3_660 };
    assert.deepEqual(decodeJwtPart(id_token, 1), {
      ...common,
      aud: "demo-cli",
      auth_time: now,
      nonce: "n-0S6",
      email: eli,
      email_verified: true,
    });
    const { jti, ...access } = decodeJwtPart(access_token, 1);
    assert.match(String(jti), /^[0-9a-f-]{36}$/);
    assert.deepEqual(access, { ...common, aud: emulator.routerUrl, client_id: "demo-cli", scope: "openid email" });
    assert.deepEqual([decodeJwtPart(id_token, 0).typ, decodeJwtPart(access_token, 0).typ], ["JWT", "at+jwt"]);
  });

  it("returns no ID token without the openid scope", async (t) => {
    const emulator = await startTestEmulator(t);
    const tokens = await signIn(emulator, ada, { scope: "email" });
    assert.equal(tokens.id_token, undefined);
  });

  it("accepts a JSON request", async (t) => {
    const emulator = await startTestEmulator(t);
    const { status } = await emulator.router("POST", tokenPath, {
      body: createExchangeFields(await getAuthorizationCode(emulator, ada)),
    });
    assert.equal(status, 200);
  });

  const wrong: [string, ParameterChanges, ReturnType<typeof tokenError>][] = [
    ["without redirect_uri", { redirect_uri: undefined }, tokenError("invalid_request", "redirect_uri is missing")],
    ["without code_verifier", { code_verifier: "" }, tokenError("invalid_request", "code_verifier is missing")],
    ["without client_id", { client_id: undefined }, tokenError("invalid_request", "client_id is missing")],
    [
      "of an unknown client",
      { client_id: "nobody" },
      tokenError("invalid_client", "The client is unknown, or its secret is wrong", 401),
    ],
    ["of another client", { client_id: "demo-web" }, tokenError("invalid_grant", "The code is unknown")],
    [
      "with another redirect_uri",
      { redirect_uri: `${callbackUrl}/` },
      tokenError("invalid_grant", "redirect_uri differs from that of the authorization request"),
    ],
    [
      "with another verifier",
      { code_verifier: `${pkceVerifier.slice(0, -1)}l` },
      tokenError("invalid_grant", "code_verifier does not match"),
    ],
    ["with an unknown code", { code: "us-1_guess" }, tokenError("invalid_grant", "The code is unknown")],
  ];
  for (const [label, changes, expected] of wrong) {
    it(`rejects a request ${label} without invalidating the code`, async (t) => {
      const emulator = await startTestEmulator(t);
      const good = createExchangeFields(await getAuthorizationCode(emulator, eli));
      await assertRejected(emulator, () => requestToken(emulator, { ...good, ...changes }), expected);
      assert.equal((await requestToken(emulator, good)).status, 200);
    });
  }

  it("is rejected by another cluster", async (t) => {
    const emulator = await startTestEmulator(t);
    const code = (await getAuthorizationCode(emulator, eli)).replace("us-1_", "eu-1_");
    await assertRejected(
      emulator,
      () => requestToken(emulator, createExchangeFields(code)),
      tokenError("invalid_grant", "The code is unknown"),
    );
  });

  it("expires after ten virtual minutes", async (t) => {
    const emulator = await startTestEmulator(t);
    const code = await getAuthorizationCode(emulator, ada);
    await emulator.clock.advance({ by: 600_000 });
    await assertRejected(
      emulator,
      () => requestToken(emulator, createExchangeFields(code)),
      tokenError("invalid_grant", "The code has expired"),
    );
  });

  it("revokes its refresh tokens when it is used twice", async (t) => {
    const emulator = await startTestEmulator(t);
    const code = await getAuthorizationCode(emulator, ada);
    const { refresh_token } = (await requestToken(emulator, createExchangeFields(code))).body as Tokens;
    assert.deepEqual(
      pickStatusAndBody(await requestToken(emulator, createExchangeFields(code))),
      tokenError("invalid_grant", "The code has already been used; its refresh tokens have been revoked"),
    );
    assert.deepEqual(
      pickStatusAndBody(await refresh(emulator, refresh_token)),
      tokenError("invalid_grant", "The token is unknown"),
    );
  });
});

const refresh = (emulator: TestEmulator, refresh_token: string, changes: ParameterChanges = {}) =>
  requestToken(emulator, { grant_type: "refresh_token", refresh_token, client_id: "demo-cli", ...changes });

describe("refresh token", () => {
  it("returns new tokens for the same user and a new refresh token", async (t) => {
    const emulator = await startTestEmulator(t);
    const first = await signIn(emulator, eli, { nonce: "n" });
    await emulator.clock.advance({ by: 60_000 });
    const { status, body } = await refresh(emulator, first.refresh_token);
    const next = body as Tokens;
    assert.equal(status, 200);
    assert.notEqual(next.refresh_token, first.refresh_token);
    assert.match(next.refresh_token, /^us-1_/);
    const { iat, exp, nonce, ...same } = decodeJwtPart(first.id_token, 1);
    assert.equal(nonce, "n");
    assert.deepEqual(decodeJwtPart(next.id_token, 1), { ...same, iat: Number(iat) + 60, exp: Number(exp) + 60 });
    assert.equal((await refresh(emulator, next.refresh_token)).status, 200);
  });

  it("revokes only its own token family when it is used twice", async (t) => {
    const emulator = await startTestEmulator(t);
    const [mine, others] = [await signIn(emulator, ada), await signIn(emulator, ada)];
    const next = (await refresh(emulator, mine.refresh_token)).body as Tokens;
    assert.deepEqual(
      pickStatusAndBody(await refresh(emulator, mine.refresh_token)),
      tokenError("invalid_grant", "The token has already been used; its successors have been revoked"),
    );
    assert.deepEqual(
      pickStatusAndBody(await refresh(emulator, next.refresh_token)),
      tokenError("invalid_grant", "The token is unknown"),
    );
    assert.equal((await refresh(emulator, others.refresh_token)).status, 200);
  });

  it("accepts a narrower scope and rejects a wider one", async (t) => {
    const emulator = await startTestEmulator(t);
    const { refresh_token } = await signIn(emulator, ada, { scope: "openid email" });
    await assertRejected(
      emulator,
      () => refresh(emulator, refresh_token, { scope: "openid profile" }),
      tokenError("invalid_scope", "The scope exceeds the granted scope"),
    );
    const narrow = (await refresh(emulator, refresh_token, { scope: "email" })).body as Tokens;
    assert.deepEqual([narrow.scope, narrow.id_token], ["email", undefined]);
    const wide = (await refresh(emulator, narrow.refresh_token)).body as Tokens;
    assert.equal(wide.scope, "openid email");
  });

  it("belongs to one client and expires after thirty virtual days", async (t) => {
    const emulator = await startTestEmulator(t);
    const { refresh_token } = await signIn(emulator, ada);
    const unknownToken = tokenError("invalid_grant", "The token is unknown");
    await assertRejected(emulator, () => refresh(emulator, refresh_token, { client_id: "demo-web" }), unknownToken);
    await assertRejected(emulator, () => refresh(emulator, "eu-1_guess"), unknownToken);
    await assertRejected(emulator, () => refresh(emulator, refresh_token.replace("eu-1_", "us-1_")), unknownToken);
    await emulator.clock.advance({ by: 30 * 24 * 3_600_000 });
    await assertRejected(
      emulator,
      () => refresh(emulator, refresh_token),
      tokenError("invalid_grant", "The token has expired"),
    );
    await emulator.clock.advance({ by: 24 * 3_600_000 });
    await signIn(emulator, ada);
    await assertRejected(emulator, () => refresh(emulator, refresh_token), unknownToken);
  });

  it("survives a restart and is revoked with its user", async (t) => {
    const emulator = await startTestEmulator(t);
    const { refresh_token } = await signIn(emulator, ada);
    const state = (await emulator.control("GET", "state")).body as {
      rows: { users: { email: string; is_active: boolean }[] };
    };
    assert.equal((await emulator.control("PUT", "state", { body: state })).status, 200);
    for (const user of state.rows.users) if (user.email === ada) user.is_active = false;
    const tokens = (await refresh(emulator, refresh_token)).body as Tokens;
    assert.ok(tokens.refresh_token);
    await emulator.control("PUT", "state", { body: state });
    await assertRejected(
      emulator,
      () => refresh(emulator, refresh_token),
      tokenError("invalid_grant", "The user is no longer active"),
    );
  });
});

describe("confidential client", () => {
  const seed = confidentialClientSeed;
  const [{ client_id, client_secret: secret }] = seed.oauth_clients;
  const encoded = { user: "demo+portal", password: encodeURIComponent(secret) };

  for (const [label, fields, headers] of [
    ["in the header", { client_id: undefined }, { authorization: formatBasicHeader(encoded) }],
    ["in the body", { client_id, client_secret: secret }, {}],
  ] as const) {
    it(`authenticates with its secret ${label}`, async (t) => {
      const emulator = await startTestEmulator(t, { seed });
      const code = await getAuthorizationCode(emulator, ada, { client_id });
      assert.equal((await requestToken(emulator, { ...createExchangeFields(code), ...fields }, headers)).status, 200);
    });
  }

  it("rejects a missing or wrong client secret", async (t) => {
    const emulator = await startTestEmulator(t, { seed });
    const good = { ...createExchangeFields(await getAuthorizationCode(emulator, ada, { client_id })), client_id };
    const expected = tokenError("invalid_client", "The client is unknown, or its secret is wrong", 401);
    await assertRejected(emulator, () => requestToken(emulator, good), expected);
    await assertRejected(emulator, () => requestToken(emulator, { ...good, client_secret: "guess" }), expected);
    const authorization = formatBasicHeader({ ...encoded, password: "guess" });
    await assertRejected(emulator, () => requestToken(emulator, good, { authorization }), expected);
    const challenged = await requestToken(emulator, good, { authorization });
    assert.equal(challenged.headers.get("www-authenticate"), 'Basic realm="oauth"');
    assert.equal((await requestToken(emulator, good)).headers.get("www-authenticate"), null);
    // These contain no colon, no valid base64, and no valid UTF-8.
    for (const unreadable of ["Y29uZjI=", "%%%", Buffer.from([99, 58, 0xff]).toString("base64")]) {
      const response = await requestToken(emulator, good, { authorization: `Basic ${unreadable}` });
      assert.deepEqual(
        [response.status, response.body, response.headers.get("www-authenticate")],
        [
          401,
          { error: "invalid_client", error_description: "The client is unknown, or its secret is wrong" },
          'Basic realm="oauth"',
        ],
      );
    }
  });
});

describe("token request", () => {
  it("rejects repeated parameters", async (t) => {
    const seed = {
      ...confidentialClientSeed,
      oauth_clients: [...confidentialClientSeed.oauth_clients, { client_id: "pub", client_name: "P" }],
    };
    const emulator = await startTestEmulator(t, { seed });
    const [{ client_id, client_secret }] = confidentialClientSeed.oauth_clients;
    const good = { ...createExchangeFields(await getAuthorizationCode(emulator, ada, { client_id })), client_id };
    const authorization = formatBasicHeader({ user: "demo+portal", password: encodeURIComponent(client_secret) });
    const twice = tokenError(
      "invalid_request",
      "The client authenticates both by HTTP basic and by parameters, or sends two client IDs",
    );
    await assertRejected(emulator, () => requestToken(emulator, { ...good, client_secret }, { authorization }), twice);
    await assertRejected(
      emulator,
      () => requestToken(emulator, { ...good, client_id: "pub" }, { authorization }),
      twice,
    );
    const cluster = createSender(emulator.clusters[0]!.url, formHeaders);
    const body = `${formatParameters({}, good)}&code=eu-1_other`;
    const repeated = tokenError("invalid_request", "code is repeated");
    await assertRejected(emulator, () => cluster("POST", tokenPath, { body }), repeated);
    const missing = tokenError("invalid_request", "grant_type is missing");
    await assertRejected(emulator, () => cluster("POST", tokenPath, { body: "code=c" }), missing);
    const { status, headers } = await requestToken(emulator, good, { authorization });
    assert.deepEqual([status, headers.get("cache-control"), headers.get("pragma")], [200, "no-store", "no-cache"]);
  });
});

describe("access token", () => {
  it("returns the claims of its user within its scope", async (t) => {
    const emulator = await startTestEmulator(t);
    const getClaims = async (scope: string) =>
      pickStatusAndBody(await getUserinfo(emulator, (await signIn(emulator, eli, { scope })).access_token));
    const sub = { sub: "31", cluster: "us-1" };
    const email = { email: eli, email_verified: true };
    assert.deepEqual(await getClaims("openid"), { status: 200, body: sub });
    assert.deepEqual(await getClaims("openid email"), { status: 200, body: { ...sub, ...email } });
    assert.deepEqual(await getClaims("openid profile email"), {
      status: 200,
      body: { ...sub, ...email, name: "Eli Stone" },
    });
  });

  const carriers: [string, (access_token: string) => TestRequest][] = [
    ["header", (access_token) => ({ headers: { authorization: `Bearer ${access_token}` } })],
    ["form", (access_token) => ({ headers: formHeaders, body: formatParameters({}, { access_token }) })],
  ];
  for (const [location, carry] of carriers) {
    it(`returns the same claims for a POST with the token in its ${location}`, async (t) => {
      const emulator = await startTestEmulator(t);
      const { access_token } = await signIn(emulator, eli);
      const response = await emulator.router("POST", "/api/v1/oauth/userinfo/", carry(access_token));
      assert.deepEqual(pickStatusAndBody(response), pickStatusAndBody(await getUserinfo(emulator, access_token)));
    });
  }

  it("rejects a request that sends the token twice", async (t) => {
    const emulator = await startTestEmulator(t);
    const { access_token } = await signIn(emulator, ada);
    const both = {
      headers: { ...formHeaders, authorization: `Bearer ${access_token}` },
      body: formatParameters({}, { access_token }),
    };
    const response = await emulator.router("POST", "/api/v1/oauth/userinfo/", both);
    const reason = "The access token cannot be sent both in the header and in the form";
    assert.deepEqual(pickStatusAndBody(response), tokenError("invalid_request", reason));
    assert.equal(response.headers.get("www-authenticate"), 'Bearer error="invalid_request"');
  });

  it("rejects an invalid token in a POST and ignores a token in a URL", async (t) => {
    const emulator = await startTestEmulator(t);
    const { access_token } = await signIn(emulator, ada);
    const invalidToken = tokenError(
      "invalid_token",
      "The access token is altered or expired, or its user is no longer active",
      401,
    );
    const missing = { status: 401, body: { detail: "Not authenticated" } };
    for (const [target, headers, response, challenge] of [
      ["/api/v1/oauth/userinfo/", { authorization: "Bearer guess" }, invalidToken, 'Bearer error="invalid_token"'],
      [`/api/v1/oauth/userinfo/?access_token=${access_token}`, {}, missing, 'Bearer realm="oauth"'],
    ] as const) {
      const actual = await emulator.router("POST", target, { headers });
      assert.deepEqual(pickStatusAndBody(actual), response);
      assert.equal(actual.headers.get("www-authenticate"), challenge);
    }
  });

  it("expires after one virtual hour, with or without its cluster prefix", async (t) => {
    const emulator = await startTestEmulator(t);
    const { access_token } = await signIn(emulator, ada);
    assert.equal((await getUserinfo(emulator, `eu-1_${access_token}`)).status, 200);
    await emulator.clock.advance({ by: 3_600_000 - 1 });
    assert.equal((await getUserinfo(emulator, access_token)).status, 200);
    await emulator.clock.advance({ by: 1 });
    assert.equal((await getUserinfo(emulator, access_token)).status, 401);
  });

  it("rejects an altered, foreign or wrong-type token, or one without a user", async (t) => {
    const emulator = await startTestEmulator(t);
    const { access_token, id_token } = await signIn(emulator, ada);
    const [header, claims, signature] = access_token.split(".") as [string, string, string];
    const encodeClaims = (changes: object) =>
      Buffer.from(JSON.stringify({ ...decodeJwtPart(access_token, 1), ...changes })).toString("base64url");
    const none = Buffer.from('{"alg":"none","typ":"at+jwt"}').toString("base64url");
    for (const token of [
      `${header}.${encodeClaims({ sub: "12" })}.${signature}`,
      `${header}.${encodeClaims({ cluster: "us-1" })}.${signature}`,
      `${header}.${claims}.${"A".repeat(signature.length)}`,
      `${none}.${claims}.`,
      id_token,
    ]) {
      const response = await getUserinfo(emulator, token);
      assert.deepEqual(
        pickStatusAndBody(response),
        tokenError("invalid_token", "The access token is altered or expired, or its user is no longer active", 401),
        token,
      );
      assert.equal(response.headers.get("www-authenticate"), 'Bearer error="invalid_token"');
    }
  });
});
