import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type CrmAVersion, signCrmA, verifyCrmA } from "../../src/schemes/connected-apps.ts";
import { runCli } from "../support/cli/run-cli.ts";
import { startTestEmulator, type TestEmulator } from "../support/emulator.ts";
import { installLibrary } from "../support/foreign/library.ts";
import { type ReceivedRequest, startReceiver } from "../support/receiver.ts";

const { missing, load } = await installLibrary("@hubspot/api-client@13.5.0");
const loadHubspotSignature = () => load<typeof import("@hubspot/api-client")>("@hubspot/api-client").Signature;

/**
 * Requests as the official library of crm_a signs and verifies them. The library does not decode URLs and requires an
 * empty body.
 */
const clientSecret = "11111111-2222-3333-4444-555555555555";
const seed = { clusters: [{ id: "eu-1", label: "eu" }], apps: { crm_a: { client_secret: clientSecret } } };
const versions: readonly CrmAVersion[] = ["v1", "v2", "v3"];

/** The library's input for a GET of the URL. */
const get = (url: string, timestamp: number) => ({ method: "GET", url, requestBody: "", clientSecret, timestamp });

/** Requests cards with the library's signature over `signed`, the expected form of the target. */
async function sendSigned(
  emulator: TestEmulator,
  version: CrmAVersion,
  target: string,
  signed: string,
  timestamp = Date.now(),
) {
  const signature = loadHubspotSignature().getSignature("GET", version, {
    signature: "",
    ...get(emulator.routerUrl + signed, timestamp),
  });
  const { status } = await emulator.router("GET", target, {
    headers: {
      "x-crm-a-signature": signature,
      "x-crm-a-signature-version": version,
      ...(version === "v3" && { "x-crm-a-signature-timestamp": String(timestamp) }),
    },
  });
  return status;
}

describe("crm_a with the CRM's official library", { skip: missing }, () => {
  for (const version of versions) {
    it(`accepts ${version} signatures of the library`, async (t: TestContext) => {
      const emulator = await startTestEmulator(t, { seed });
      const target = "/router/v1/crm_a/cards?portalId=62515&name=A%20%26%20B";
      assert.equal(await sendSigned(emulator, version, target, target), 200);
      const elsewhere = "/router/v1/crm_a/cards?portalId=1";
      // A version 1 signature of a GET covers only the secret.
      assert.equal(await sendSigned(emulator, version, target, elsewhere), version === "v1" ? 200 : 401);
    });

    it(`creates ${version} signatures that the library accepts`, () => {
      const at = Date.now();
      const url = "https://router.example/router/v1/crm_a/iframe?portalId=62515&name=A%20%26%20B";
      const timestamp = version === "v3" ? String(at) : "";
      const signature = signCrmA({ version, clientSecret, method: "GET", url, body: "", timestamp });
      assert.equal(loadHubspotSignature().isValid({ ...get(url, at), signature, signatureVersion: version }), true);
      assert.equal(
        loadHubspotSignature().isValid({ ...get(`${url}x`, at), signature, signatureVersion: version }),
        version === "v1",
      );
    });
  }

  it("decodes v3 URLs like callers of the library", async (t) => {
    const emulator = await startTestEmulator(t, { seed });
    const target = "/router/v1/crm_a/cards?when=10%3A30&u=https%3a%2F%2Fx.example%2Fp%3Fa%3D1&mail=a%40b.example";
    const decoded = "/router/v1/crm_a/cards?when=10:30&u=https://x.example/p?a%3D1&mail=a@b.example";
    assert.equal(await sendSigned(emulator, "v3", target, decoded), 200);
    assert.equal(await sendSigned(emulator, "v2", target, decoded), 401);
    assert.equal(await sendSigned(emulator, "v2", target, target), 200);
  });

  it("applies the same maximum age as the library", () => {
    const url = "https://router.example/x";
    const old = Date.now() - 300_100;
    const signedParts = { clientSecret, method: "GET", url, body: "", version: "v3", timestamp: String(old) } as const;
    const signature = signCrmA(signedParts);
    assert.throws(() => loadHubspotSignature().isValid({ ...get(url, old), signature, signatureVersion: "v3" }));
    assert.deepEqual(verifyCrmA({ ...signedParts, signature, nowMs: Date.now() }), { ok: false, reason: "stale" });
  });

  for (const version of versions) {
    it(`accepts ${version} signatures of the command line`, async (t) => {
      const app = await startReceiver(t);
      app.respond((_, response) => response.end("<p>ok</p>"));
      const query = ["--query", "portalId=62515", "--query", "name=A & B"];
      const { exit } = await runCli(
        ["crm-a", "iframe", ...query, "--signature-version", version, "--base-url", app.url],
        { env: { SVC_CRM_A_CLIENT_SECRET: clientSecret } },
      );
      assert.equal(exit, 0);
      const [{ url, headers }] = app.received as [ReceivedRequest];
      assert.equal(headers["x-crm-a-signature-version"], version);
      const at = Number(headers["x-crm-a-signature-timestamp"]);
      const signature = String(headers["x-crm-a-signature"]);
      assert.ok(loadHubspotSignature().isValid({ ...get(app.url + url, at), signature, signatureVersion: version }));
    });
  }
});
