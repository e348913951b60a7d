import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hashEmail } from "../../../../src/base/email-address.ts";
import { pickStatusAndBody, startTestEmulator, type TestRequest } from "../../../support/emulator.ts";
import { type RoutedEmulator, startRoutedEmulator } from "../../../support/routed-emulator.ts";

const createJwt = (claims: object): string =>
  ["e30", Buffer.from(JSON.stringify(claims)).toString("base64url"), "c2ln"].join(".");
const form = { "content-type": "application/x-www-form-urlencoded" };

/** Starts a router with one identifier of every kind mapped to us-1. */
async function startWithMappings(t: Parameters<typeof startRoutedEmulator>[0]): Promise<RoutedEmulator> {
  const emulator = await startRoutedEmulator(t, { mappings: { user_codes: { "us-1": ["WDJBMJHT"] } } });
  await emulator.map("clients", "us-1", ["app"]);
  await emulator.map("emails", "us-1", [hashEmail("ada@example.com")]);
  await emulator.map("creators", "us-1", ["creator"]);
  await emulator.map("counterparties", "us-1", ["counterparty"]);
  await emulator.map("teams", "us-1", ["T1", "77"]);
  await emulator.map("integrations", "us-1", ["tenant"]);
  await emulator.router("POST", "/router/v1/contract_signatories/", {
    body: [{ signatory_hash: "sig", cluster: "us-1" }],
  });
  emulator.listForwarded();
  return emulator;
}

const cases: Record<string, [string, TestRequest?]> = {
  "cluster_id in the query": ["/x?cluster_id=us-1"],
  "cluster_id in a JSON body": ["/x", { body: { cluster_id: "us-1" } }],
  "cluster_id in a form": ["/x", { body: "cluster_id=us-1", headers: form }],
  "the header x-cluster-id": ["/x", { headers: { "x-cluster-id": "us-1" } }],
  "a bearer token that begins with a cluster": ["/x", { headers: { authorization: "Bearer us-1_secret" } }],
  "a JWT with the claim cluster": ["/x", { headers: { authorization: `Bearer ${createJwt({ cluster: "us-1" })}` } }],
  "the header client-id": ["/x", { headers: { "client-id": "app" } }],
  "client_id in the query": ["/x?client_id=app"],
  email_hash: [`/x?email_hash=${hashEmail("ada@example.com")}`],
  "a hashed e-mail address": ["/x", { body: { email: " ADA@example.com " } }],
  "a hashed login_hint": ["/x?login_hint=ada%40example.com"],
  "a hashed userEmail of crm_a": ["/x?userEmail=ada%40example.com"],
  "portalId of crm_a": ["/x?portalId=tenant"],
  "user_code as users type it": ["/x?user_code=wdjb-mjht"],
  creator_token: ["/x?creator_token=creator"],
  cp_token: ["/x?cp_token=counterparty"],
  counterparty_token: ["/x?counterparty_token=counterparty"],
  "invite_token of a creator": ["/x", { body: { invite_token: "creator" } }],
  "invite_token of a counterparty": ["/x?invite_token=counterparty"],
  chat_a_team_id: ["/x", { body: { chat_a_team_id: "T1" } }],
  email_hash_list: ["/x", { body: { email_hash_list: ["0", hashEmail("ada@example.com")] } }],
  client_ids: ["/x?client_ids=other&client_ids=app"],
  tokens: ["/x", { body: { tokens: ["none", "counterparty"] } }],
  creator_tokens: ["/x", { body: { creator_tokens: ["creator"] } }],
  cp_tokens: ["/x", { body: { cp_tokens: ["counterparty"] } }],
  chat_a_team_id_list: ["/x", { body: { chat_a_team_id_list: [77] } }],
  external_id_list: ["/x", { body: { external_id_list: ["tenant"], integration_type: "CHAT_B" } }],
  user_codes: ["/x", { body: "user_codes=none&user_codes=wdjb-mjht", headers: form }],
  "token of a creator": ["/x", { body: { token: "creator" } }],
  "token of a counterparty": ["/x", { body: { token: "counterparty" } }],
  team_id: ["/x?team_id=T1"],
  "team_id as a number": ["/x", { body: { team_id: 77 } }],
  "external_id without a type": ["/x?external_id=tenant"],
  "external_id with its type": ["/x?external_id=tenant&integration_type=CHAT_B"],
  signatory_hash: ["/x?signatory_hash=sig"],
  "the last of a repeated query value": ["/x?client_id=other&client_id=app"],
  "the body after an unmapped query parameter": ["/x?client_id=unknown", { body: { client_id: "app" } }],
  "an identifier after an unknown cluster_id": ["/x?cluster_id=ap-9&client_id=app"],
  "JSON without a content type": ["/x", { body: '{"client_id":"app"}', headers: { "content-type": "text/plain" } }],
};

describe("owner lookup of the catch-all", () => {
  for (const [name, [path, request]] of Object.entries(cases)) {
    it(`uses ${name}`, async (t) => {
      const emulator = await startWithMappings(t);
      await emulator.router("POST", path, request);
      assert.deepEqual(emulator.listForwarded(), [`us POST ${path}`]);
    });
  }
});

describe("broadcast of the catch-all", () => {
  const everywhere: Record<string, [string, TestRequest?]> = {
    "the request has no identifier": ["/x"],
    "a bearer token ends after the cluster ID": ["/x", { headers: { authorization: "Bearer us-1_" } }],
    "the apparent query is part of the path": ["/x&client_id=app"],
    "an identifier is unmapped": ["/x?client_id=unknown"],
    "an external ID has another type": ["/x?external_id=tenant&integration_type=OTHER"],
    "the identifier is nested in the body": ["/x", { body: { inner: { client_id: "app" } } }],
    "the body is an array": ["/x", { body: [{ client_id: "app" }] }],
    "the body is malformed JSON": ["/x", { body: '{"client_id":"app"' }],
    "the JWT claim names an unknown cluster": [
      "/x",
      { headers: { authorization: `Bearer ${createJwt({ cluster: "ap-9" })}` } },
    ],
    "the bearer token is not a JWT": ["/x", { headers: { authorization: "Bearer a.%%%.c" } }],
    "the body has a member called __proto__": ["/x", { body: '{"__proto__":{"client_id":"app"}}' }],
  };
  for (const [name, [path, request]] of Object.entries(everywhere)) {
    it(`requests all clusters if ${name}`, async (t) => {
      const emulator = await startWithMappings(t);
      await emulator.router("POST", path, request);
      assert.deepEqual(emulator.listForwarded(), [`eu POST ${path}`, `us POST ${path}`]);
    });
  }
});

it("the router serves the contract API under its own URL, by client-id", async (t) => {
  const emulator = await startTestEmulator(t);
  const key = { "client-id": emulator.clusters[1]!.clientId!, "client-secret": emulator.clusters[1]!.clientSecret! };
  const path = "/api/v2.1/public/webhooks/hmac_key/";
  const response = await emulator.router("GET", path, { headers: key });
  assert.deepEqual(pickStatusAndBody(response), { status: 200, body: { hmac_key: emulator.clusters[1]!.hmacKey } });
  assert.equal(response.headers.get("x-svc-matched"), "catch-all");
  assert.deepEqual(
    pickStatusAndBody(await emulator.router("GET", path, { headers: { ...key, "client-secret": "guess" } })),
    { status: 401, body: { detail: "Incorrect authentication credentials." } },
  );
});

it("the catch-all prefers the kind of identifier that is checked first", async (t) => {
  const emulator = await startWithMappings(t);
  await emulator.map("teams", "eu-1", ["T2"]);
  await emulator.router("POST", "/x?team_id=T2", { headers: { "client-id": "app" } });
  assert.deepEqual(emulator.listForwarded(), ["us POST /x?team_id=T2"]);

  await emulator.map("clients", "eu-1", ["other"]);
  await emulator.router("POST", "/x?client_id=other", { headers: { "client-id": "app" } });
  assert.deepEqual(emulator.listForwarded(), ["us POST /x?client_id=other"]);
});

it("the catch-all requests every cluster with a signatory", async (t) => {
  const emulator = await startWithMappings(t);
  const add = (cluster: string) =>
    emulator.router("POST", "/router/v1/contract_signatories/", { body: { signatory_hash: "sig", cluster } });
  await add("eu-1");
  await emulator.router("GET", "/x?signatory_hash=sig");
  assert.deepEqual(emulator.listForwarded(), ["eu GET /x?signatory_hash=sig", "us GET /x?signatory_hash=sig"]);
});

it("the catch-all receives nearly matching paths, and rejects other methods with 405", async (t) => {
  const emulator = await startWithMappings(t);
  for (const [method, path] of [
    ["GET", "/router/v1/cluster_emails/bulk"],
    ["GET", "/router/v1/clusters?client_id=app"],
    ["POST", "/router/v1/oauth2.0/token"],
    ["GET", "//router/v1/clusters/"],
    // Documents of the framework that the service does not publish (DECISIONS.md, R17).
    ["GET", "/docs"],
    ["GET", "/openapi.json"],
  ] as const) {
    const response = await emulator.router(method, path);
    assert.deepEqual([response.status, response.headers.get("x-svc-matched")], [200, "catch-all"], path);
  }
  assert.equal((await emulator.router("OPTIONS", "/nope")).status, 405);
});
