import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { pickStatusAndBody } from "../../../support/emulator.ts";
import { botApp, type Issuer, serviceUrl, startIssuer, type TokenChanges } from "../../../support/identity/issuer.ts";
import { type RoutedEmulator, startRoutedEmulator } from "../../../support/routed-emulator.ts";

const path = "/router/v1/integrations/chat_b/webhook/messaging";
const activity = { type: "message", channelId: "msteams", serviceUrl, channelData: { tenant: { id: "tenant-1" } } };
const unauthorizedResponse = { status: 401, body: { detail: "Invalid bot-framework token" } };

interface Stage {
  readonly emulator: RoutedEmulator;
  readonly issuer: Issuer;
  /** Sends an activity with the authorization. Returns the response's status and body. */
  send(authorization: string | undefined, body?: unknown): Promise<ReturnType<typeof pickStatusAndBody>>;
  /** Sends an activity with a token of the issuer. */
  sendSigned(changes?: TokenChanges, body?: unknown): Promise<ReturnType<typeof pickStatusAndBody>>;
}

/** Starts a router that trusts the issuer of the test and maps tenant-1 to us-1. */
async function startBotRouter(t: TestContext): Promise<Stage> {
  const otherIssuer = await startIssuer(t);
  const emulator = await startRoutedEmulator(t, {
    apps: { chat_b: { ...botApp, openid_metadata_url: otherIssuer.metadataUrl } },
  });
  await emulator.map("integrations", "us-1", ["tenant-1"]);
  const send: Stage["send"] = async (authorization, body = activity) =>
    pickStatusAndBody(
      await emulator.router("POST", path, { body, headers: authorization === undefined ? {} : { authorization } }),
    );
  return {
    emulator,
    issuer: otherIssuer,
    send,
    sendSigned: async (changes, body) => send(`Bearer ${await otherIssuer.token(changes)}`, body),
  };
}

/** Sets a claim to a time in seconds relative to the wall clock, because tokens are checked against the wall clock. */
const createRelativeClaim = (claim: "exp" | "nbf", seconds: number) => ({
  get [claim]() {
    return Math.floor(Date.now() / 1_000) + seconds;
  },
});

describe("chat_b", () => {
  it("forwards an activity unchanged to its tenant's cluster, with its token", async (t) => {
    const { emulator, issuer: otherIssuer } = await startBotRouter(t);
    const body = '{ "channelId":"msteams","conversation":{"tenantId":"tenant-1"},"text":"caf\\u00e9 é" }';
    const authorization = `Bearer ${await otherIssuer.token()}`;
    emulator.us.respond((_, response) => response.writeHead(202).end());
    const response = await emulator.router("POST", path, {
      body,
      headers: { "content-type": "application/json; charset=utf-8", authorization },
    });
    assert.deepEqual(pickStatusAndBody(response), { status: 202, body: "" });
    const [request] = emulator.us.received;
    assert.deepEqual(
      [request?.body.toString(), request?.headers.authorization, request?.headers["content-type"]],
      [body, authorization, "application/json; charset=utf-8"],
    );
    assert.deepEqual(emulator.eu.received, []);
  });

  it("prefers the tenant of channelData over that of the conversation", async (t) => {
    const { emulator, sendSigned } = await startBotRouter(t);
    await emulator.map("integrations", "eu-1", ["tenant-2"]);
    await sendSigned({}, { ...activity, conversation: { tenantId: "tenant-2" } });
    assert.deepEqual(emulator.listForwarded(), [`us POST ${path}`]);
    await sendSigned({}, { ...activity, channelData: {}, conversation: { tenantId: "tenant-2" } });
    assert.deepEqual(emulator.listForwarded(), [`eu POST ${path}`]);
  });

  it("finds no cluster for an unmapped or a missing tenant", async (t) => {
    const { emulator, sendSigned } = await startBotRouter(t);
    for (const channelData of [{ tenant: { id: "tenant-9" } }, {}, null, "x"]) {
      assert.deepEqual(await sendSigned({}, { ...activity, channelData }), {
        status: 404,
        body: { detail: "No cluster mapping for this tenant" },
      });
    }
    assert.deepEqual(emulator.listForwarded(), []);
  });

  const accepted: Record<string, { token?: TokenChanges; body?: object; key?: object }> = {
    "that expired a minute ago, within the skew": { token: { claims: createRelativeClaim("exp", -60) } },
    "for an activity without serviceUrl": { body: { ...activity, serviceUrl: undefined } },
    "of a key without endorsements": { key: { endorsements: undefined }, body: { ...activity, channelId: "webchat" } },
    "of a key with empty endorsements": { key: { endorsements: [] }, body: { ...activity, channelId: undefined } },
    "without an expiry, as in the vendor's library": { token: { omittedClaims: ["exp"] } },
    "for several apps": { token: { claims: { aud: ["x", botApp.app_id] } } },
    "of the desktop emulator, version 1": {
      token: {
        claims: {
          iss: "https://sts.windows.net/d6d49420-f39b-4df7-a1dc-d59a935871db/",
          ver: "1.0",
          appid: botApp.app_id,
        },
        omittedClaims: ["serviceurl", "aud"],
      },
    },
    "of the desktop emulator, version 2": {
      token: {
        claims: {
          iss: "https://login.microsoftonline.com/f8cdef31-a31e-4b4a-93e4-5f571e91255a/v2.0",
          ver: "2.0",
          azp: botApp.app_id,
        },
        omittedClaims: ["serviceurl"],
      },
    },
    "of the desktop emulator in the tenant of the app": {
      token: {
        claims: { iss: "https://sts.windows.net/tenant-7/", tid: "tenant-7", ver: "1.0", appid: botApp.app_id },
        omittedClaims: ["serviceurl"],
      },
    },
  };
  for (const [name, { token, body, key }] of Object.entries(accepted)) {
    it(`accepts a token ${name}`, async (t) => {
      const { issuer: otherIssuer, sendSigned } = await startBotRouter(t);
      if (key) otherIssuer.publish(key as never);
      assert.deepEqual(await sendSigned(token, body), { status: 200, body: "" });
    });
  }

  const rejected: Record<string, { token?: TokenChanges; body?: object; key?: object }> = {
    "of another issuer": { token: { claims: { iss: "https://else.example" } } },
    "for another app": { token: { claims: { aud: "else" } } },
    "without an audience": { token: { omittedClaims: ["aud"] } },
    "for another serviceUrl": { token: { claims: { serviceurl: "https://else.example" } } },
    "without serviceurl": { token: { omittedClaims: ["serviceurl"] } },
    "that becomes valid in ten minutes": { token: { claims: createRelativeClaim("nbf", 600) } },
    "that expired ten minutes ago": { token: { claims: createRelativeClaim("exp", -600) } },
    "with a claim spelled serviceUrl": { token: { claims: { serviceUrl }, omittedClaims: ["serviceurl"] } },
    "of an unknown key": { token: { header: { kid: "k2" } } },
    "without a kid": { token: { header: { kid: undefined } } },
    "of a key that is not endorsed for the channel": { body: { ...activity, channelId: "webchat" } },
    "of an endorsed key without a channel": { body: { ...activity, channelId: undefined } },
    "of an invalid key": { key: { n: "!", e: 7 } },
    "of the desktop emulator that names another tenant than its issuer": {
      token: { claims: { iss: "https://sts.windows.net/tenant-7/", tid: "else", ver: "1.0", appid: botApp.app_id } },
    },
    "of the desktop emulator for another app": {
      token: {
        claims: { iss: "https://sts.windows.net/d6d49420-f39b-4df7-a1dc-d59a935871db/", ver: "1.0", appid: "else" },
      },
    },
  };
  for (const [name, { token, body, key }] of Object.entries(rejected)) {
    it(`rejects a token ${name}`, async (t) => {
      const { emulator, issuer: otherIssuer, sendSigned } = await startBotRouter(t);
      if (key) otherIssuer.publish(key as never);
      assert.deepEqual(await sendSigned(token, body), unauthorizedResponse);
      assert.deepEqual(emulator.listForwarded(), []);
    });
  }

  it("rejects a missing, tampered or unsigned bearer token", async (t) => {
    const { emulator, issuer: otherIssuer, send } = await startBotRouter(t);
    const token = await otherIssuer.token();
    const [head, claims, signature] = token.split(".") as [string, string, string];
    const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const attempts = {
      "no header": undefined,
      "an empty header": "",
      "another scheme": "Basic dTpw",
      "the scheme in lower case": `bearer ${token}`,
      "no token": "Bearer ",
      garbage: "Bearer x.y.z",
      "a changed signature": `Bearer ${head}.${claims}.${signature.split("").reverse().join("")}`,
      "changed claims": `Bearer ${head}.${encoded({ iss: botApp.issuer, aud: botApp.app_id, exp: 9e9 })}.${signature}`,
      "the algorithm none": `Bearer ${encoded({ alg: "none", kid: "k1" })}.${claims}.`,
      "a secret for a key": `Bearer ${encoded({ alg: "HS256", kid: "k1" })}.${claims}.${signature}`,
    };
    for (const [name, authorization] of Object.entries(attempts)) {
      assert.deepEqual(await send(authorization), unauthorizedResponse, name);
    }
    assert.deepEqual(emulator.listForwarded(), []);
  });

  it("checks the token before the body", async (t) => {
    const { send, sendSigned } = await startBotRouter(t);
    const notAnActivity = { status: 400, body: { detail: "The activity must be a JSON object" } };
    for (const body of ["[]", "{{{", "7", ""]) {
      assert.deepEqual(await sendSigned({}, body), notAnActivity, body);
      assert.deepEqual(await send("Bearer x.y.z", body), unauthorizedResponse, body);
    }
  });

  it("caches the issuer's keys and does not refetch them immediately for an unknown key", async (t) => {
    const { issuer: otherIssuer, sendSigned } = await startBotRouter(t);
    await sendSigned();
    await sendSigned();
    for (let i = 0; i < 3; i += 1) await sendSigned({ header: { kid: `new-${i}` } });
    assert.deepEqual(
      otherIssuer.received.map(({ url }) => url),
      ["/v1/metadata", "/v1/keys"],
    );
  });

  it("rejects all tokens while the issuer does not respond, then retries", async (t) => {
    const { issuer: otherIssuer, sendSigned, emulator } = await startBotRouter(t);
    otherIssuer.respond(500);
    assert.deepEqual(await sendSigned(), unauthorizedResponse);
    assert.deepEqual(await sendSigned(), unauthorizedResponse);
    assert.equal(otherIssuer.received.length, 2);
    assert.deepEqual(emulator.listForwarded(), []);
  });

  it("reports the rejection reason only in the request log", async (t) => {
    const { emulator, sendSigned } = await startBotRouter(t);
    await sendSigned({ claims: { aud: "else" } });
    const { items } = (await emulator.control("GET", "requests?service=router")).body as {
      items: { findings: object[] }[];
    };
    assert.deepEqual(items.at(-1)?.findings, [{ code: "chat-b-token-refused", detail: "for another app" }]);
  });
});
