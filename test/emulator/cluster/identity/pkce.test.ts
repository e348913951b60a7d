import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { computeCodeChallenge } from "../../../../src/schemes/http-authorization.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import {
  authorizationRequest,
  authorize,
  callbackUrl,
  confidentialClientSeed,
  createExchangeFields,
  getAuthorizationCode,
  getRedirectParameters,
  listFindings,
  type ParameterChanges,
  pkceVerifier,
  requestToken,
} from "../../../support/identity/sign-in.ts";
import { assertRejected } from "../../../support/rejections.ts";

const [{ client_id, client_secret }] = confidentialClientSeed.oauth_clients;
const [{ email }] = confidentialClientSeed.users;
const parametersWithoutPkce = { client_id, code_challenge: undefined, code_challenge_method: undefined };
const redirectParameters = { "": callbackUrl, state: authorizationRequest.state };
const createInvalidRequestBody = (error_description: string) => ({ error: "invalid_request", error_description });
const invalidVerifierMessage = "code_verifier must have 43 to 128 characters: letters, digits, -, ., _ and ~";
const createSecretExchangeFields = (code: string, changes: ParameterChanges = {}) => ({
  ...createExchangeFields(code),
  client_id,
  client_secret,
  code_verifier: undefined,
  ...changes,
});

describe("confidential client", () => {
  it("may omit PKCE, which records a finding", async (t) => {
    const emulator = await startTestEmulator(t, { seed: confidentialClientSeed });
    const code = await getAuthorizationCode(emulator, email, parametersWithoutPkce);
    assert.deepEqual(await listFindings(emulator, "eu-1"), [
      { code: "no-pkce", detail: "demo portal sent no code_challenge" },
    ]);
    const { status } = await requestToken(emulator, createSecretExchangeFields(code));
    assert.equal(status, 200);
  });

  it("rejects a verifier for a code issued without a challenge", async (t) => {
    const emulator = await startTestEmulator(t, { seed: confidentialClientSeed });
    const code = await getAuthorizationCode(emulator, email, parametersWithoutPkce);
    await assertRejected(
      emulator,
      () => requestToken(emulator, createSecretExchangeFields(code, { code_verifier: pkceVerifier })),
      {
        status: 400,
        body: { error: "invalid_grant", error_description: "The authorization request had no code_challenge" },
      },
    );
  });

  it("requires the verifier after a challenge, without a finding", async (t) => {
    const emulator = await startTestEmulator(t, { seed: confidentialClientSeed });
    const code = await getAuthorizationCode(emulator, email, { client_id });
    await assertRejected(emulator, () => requestToken(emulator, createSecretExchangeFields(code)), {
      status: 400,
      body: createInvalidRequestBody("code_verifier is missing"),
    });
    assert.equal(
      (await requestToken(emulator, createSecretExchangeFields(code, { code_verifier: pkceVerifier }))).status,
      200,
    );
    assert.deepEqual(await listFindings(emulator, "eu-1"), []);
  });

  it("requires a challenge if the request names a method", async (t) => {
    const emulator = await startTestEmulator(t, { seed: confidentialClientSeed });
    const response = await authorize(emulator, {
      ...parametersWithoutPkce,
      code_challenge_method: "S256",
      svc_user: email,
    });
    const problem = createInvalidRequestBody("code_challenge_method requires code_challenge");
    assert.deepEqual(getRedirectParameters(response), { ...redirectParameters, ...problem, iss: emulator.routerUrl });
  });

  it("requires PKCE with --strict=pkce", async (t) => {
    const emulator = await startTestEmulator(t, { seed: confidentialClientSeed, strict: ["pkce"] });
    const response = await authorize(emulator, { ...parametersWithoutPkce, svc_user: email });
    const problem = createInvalidRequestBody("code_challenge is missing: PKCE is required");
    assert.deepEqual(getRedirectParameters(response), { ...redirectParameters, ...problem, iss: emulator.routerUrl });
  });
});

describe("code_verifier of fewer than 43 characters", () => {
  const code_verifier = pkceVerifier.slice(0, 42);
  const exchangeCode = async (emulator: TestEmulator) => {
    const code = await getAuthorizationCode(emulator, email, { code_challenge: computeCodeChallenge(code_verifier) });
    return requestToken(emulator, { ...createExchangeFields(code), code_verifier });
  };

  it("is accepted with a finding", async (t) => {
    const emulator = await startTestEmulator(t);
    assert.equal((await exchangeCode(emulator)).status, 200);
    assert.deepEqual(await listFindings(emulator, "eu-1"), [{ code: "code-verifier", detail: invalidVerifierMessage }]);
  });

  it("is rejected with --strict=pkce", async (t) => {
    const emulator = await startTestEmulator(t, { strict: ["pkce"] });
    assert.deepEqual(pickStatusAndBody(await exchangeCode(emulator)), {
      status: 400,
      body: { error: "invalid_grant", error_description: invalidVerifierMessage },
    });
  });
});

it("public client always requires PKCE", async (t) => {
  const emulator = await startTestEmulator(t);
  const response = await authorize(emulator, { ...parametersWithoutPkce, client_id: "demo-cli", svc_user: email });
  assert.deepEqual(pickStatusAndBody(response).status, 302);
  assert.equal(getRedirectParameters(response).error_description, "code_challenge is missing: PKCE is required");
});

describe("authorization code of a user who is no longer active", () => {
  it("is rejected for its redirect_uri or verifier first", async (t) => {
    const ada = "ada@northwind.example";
    const emulator = await startTestEmulator(t);
    const good = createExchangeFields(await getAuthorizationCode(emulator, ada));
    const state = (await emulator.control("GET", "state")).body as {
      rows: { users: { email: string; is_active: boolean }[] };
    };
    for (const user of state.rows.users) if (user.email === ada) user.is_active = false;
    await emulator.control("PUT", "state", { body: state });
    for (const [changes, problem] of [
      [{ redirect_uri: `${callbackUrl}/` }, "redirect_uri differs from that of the authorization request"],
      [{ code_verifier: `${pkceVerifier.slice(0, -1)}l` }, "code_verifier does not match"],
      [{}, "The user is no longer active"],
    ] as const) {
      const response = await requestToken(emulator, { ...good, ...changes });
      assert.deepEqual(pickStatusAndBody(response), {
        status: 400,
        body: { error: "invalid_grant", error_description: problem },
      });
    }
    const noVerifier = await requestToken(emulator, { ...good, code_verifier: undefined });
    assert.deepEqual(pickStatusAndBody(noVerifier), {
      status: 400,
      body: createInvalidRequestBody("code_verifier is missing"),
    });
  });
});
