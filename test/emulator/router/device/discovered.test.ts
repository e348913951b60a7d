import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatBasicHeader } from "../../../../src/schemes/http-authorization.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { createOAuthError, deviceGrantType, startDeviceAuthorization } from "../../../support/identity/devices.ts";
import { confidentialClientSeed, type ParameterChanges, requestToken } from "../../../support/identity/sign-in.ts";
import { startReceiver } from "../../../support/receiver.ts";
import { assertRejected } from "../../../support/rejections.ts";

const getNewestFindings = async ({ control }: TestEmulator) =>
  ((await control("GET", "requests?operation=oidc.token")).body as { items: { findings: object[] }[] }).items.at(-1)
    ?.findings;

/** Creates a device that polls the endpoint from discovery (RFC 8628, 3.4). */
async function startDiscovery(emulator: TestEmulator, client_id = "demo-cli") {
  const { device_code, ...deviceFields } = await startDeviceAuthorization(emulator, client_id);
  const fields: ParameterChanges = { grant_type: deviceGrantType, device_code, client_id };
  return {
    ...deviceFields,
    device_code,
    poll: (changes: ParameterChanges = {}, headers = {}) => requestToken(emulator, { ...fields, ...changes }, headers),
  };
}

describe("discovered token endpoint", () => {
  it("redeems a device code, with a finding", async (t) => {
    const emulator = await startTestEmulator(t);
    const { poll, decide } = await startDiscovery(emulator);
    assert.deepEqual(pickStatusAndBody(await poll()), createOAuthError("authorization_pending"));
    assert.deepEqual(pickStatusAndBody(await poll()), createOAuthError("slow_down"));
    await decide("AUTHORIZED");
    await emulator.clock.advance({ by: 10_000 });
    const { status, headers, body } = await poll();
    const { access_token, refresh_token, id_token, ...rest } = body as Record<string, string>;
    assert.deepEqual(
      { status, caching: headers.get("cache-control"), rest },
      {
        status: 200,
        caching: "no-store",
        rest: { token_type: "Bearer", expires_in: 3_600, scope: "openid profile email" },
      },
    );
    assert.deepEqual(
      [access_token, refresh_token, id_token].map((token) => /^(?:ey|eu-1_)/.exec(token ?? "")?.[0]),
      ["ey", "eu-1_", "ey"],
    );
    assert.deepEqual(await getNewestFindings(emulator), [
      { code: "device-code-elsewhere", detail: "the specification redeems device codes at /router/v1/oauth2.0/token/" },
    ]);
    await assertRejected(emulator, () => poll(), createOAuthError("invalid_grant"));
  });

  for (const [label, status, after, expected] of [
    ["denied", "DENIED", 1, "access_denied"],
    ["expired", "AUTHORIZED", 900_000, "expired_token"],
  ] as const) {
    it(`reports a code as ${label}`, async (t) => {
      const emulator = await startTestEmulator(t);
      const { poll, decide } = await startDiscovery(emulator);
      await decide(status);
      await emulator.clock.advance({ by: after });
      assert.deepEqual(pickStatusAndBody(await poll()), createOAuthError(expected));
    });
  }

  const described = (error: string, error_description: string) => ({ status: 400, body: { error, error_description } });
  for (const [label, changes, expected] of [
    ["without a device code", { device_code: undefined }, described("invalid_request", "device_code is missing")],
    ["without a client", { client_id: undefined }, described("invalid_request", "client_id is missing")],
    ["of an unknown client", { client_id: "nobody" }, createOAuthError("invalid_client", 401)],
    ["of another client", { client_id: "demo-web" }, createOAuthError("invalid_grant")],
    ["with a guessed code", { device_code: "guess" }, createOAuthError("invalid_grant")],
  ] as const) {
    it(`rejects a poll ${label}`, async (t) => {
      const emulator = await startTestEmulator(t);
      const { poll, decide } = await startDiscovery(emulator);
      await decide("AUTHORIZED");
      await assertRejected(emulator, () => poll(changes), expected);
      assert.equal((await poll()).status, 200);
    });
  }

  it("requires client authentication from a confidential client", async (t) => {
    const emulator = await startTestEmulator(t, { seed: confidentialClientSeed });
    const [{ client_id, client_secret }] = confidentialClientSeed.oauth_clients;
    const { poll, decide } = await startDiscovery(emulator, client_id);
    await decide("AUTHORIZED");
    await assertRejected(emulator, () => poll(), createOAuthError("invalid_client", 401));
    const wrong = { authorization: formatBasicHeader({ user: "demo+portal", password: "guess" }) };
    const response = await poll({ client_id: undefined }, wrong);
    assert.deepEqual(pickStatusAndBody(response), createOAuthError("invalid_client", 401));
    assert.equal(response.headers.get("www-authenticate"), 'Basic realm="oauth"');
    const right = {
      authorization: formatBasicHeader({ user: "demo+portal", password: encodeURIComponent(client_secret) }),
    };
    const twice = "The client authenticates both by HTTP basic and by parameters, or sends two client IDs";
    await assertRejected(emulator, () => poll({ client_secret }, right), described("invalid_request", twice));
    assert.equal((await poll({ client_id: undefined }, right)).status, 200);
  });

  it("forwards the specified path to the cluster", async (t) => {
    const cluster = await startReceiver(t);
    const emulator = await startTestEmulator(t, {
      seed: {
        clusters: [{ id: "eu-1", label: "eu", external_url: cluster.url }],
        oauth_clients: [{ client_id: "demo-cli", client_name: "Demo" }],
      },
    });
    const { poll, decide, device_code } = await startDiscovery(emulator);
    await decide("AUTHORIZED");
    const tokens = { access_token: "at", token_type: "Bearer", expires_in: 60, scope: "openid", of_their_own: [1] };
    cluster.respond((_, response) => response.end(JSON.stringify(tokens)));
    assert.deepEqual(pickStatusAndBody(await poll()), { status: 200, body: tokens });
    assert.deepEqual(
      cluster.received.map(({ method, url, body }) => [
        method,
        url,
        Object.fromEntries(new URLSearchParams(String(body))),
      ]),
      [["POST", "/router/v1/oauth2.0/token/", { grant_type: deviceGrantType, device_code, client_id: "demo-cli" }]],
    );
    cluster.respond((_, response) => response.destroy());
    const otherDevice = await startDiscovery(emulator);
    await otherDevice.decide("AUTHORIZED");
    assert.deepEqual(pickStatusAndBody(await otherDevice.poll()), createOAuthError("temporarily_unavailable", 503));
  });
});
