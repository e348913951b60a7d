import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hashEmail } from "../../../../src/base/email-address.ts";
import { signCrmB } from "../../../../src/schemes/connected-apps.ts";
import { pickStatusAndBody } from "../../../support/emulator.ts";
import { type RoutedEmulator, startRoutedEmulator } from "../../../support/routed-emulator.ts";

const path = "/router/v1/crm_b/";
const secret = "1234567890123456789";
const apps = { crm_b: { consumer_secret: secret, index_url_allow: ["https://front.example"] } };
const form = { "content-type": "application/x-www-form-urlencoded" };

const envelope = {
  algorithm: "HMACSHA256",
  context: { user: { email: "Ada@northwind.example" }, organization: { organizationId: "00Dx0000000001" } },
};

const open = (emulator: RoutedEmulator, signedRequest: string, query = "") =>
  emulator.router("POST", path + query, { body: `signed_request=${encodeURIComponent(signedRequest)}`, headers: form });

const signEnvelope = (value: unknown = envelope) => signCrmB(secret, JSON.stringify(value));

describe("crm_b", () => {
  it("forwards a request to the cluster of its user or organization, or the first", async (t) => {
    const emulator = await startRoutedEmulator(t, { apps });
    await open(emulator, signEnvelope());
    assert.deepEqual(emulator.listForwarded(), ["eu POST /router/v1/crm_b/"]);
    assert.equal(emulator.eu.received[0]!.body.toString(), `signed_request=${encodeURIComponent(signEnvelope())}`);

    await emulator.map("integrations", "us-1", ["00Dx0000000001"]);
    await open(emulator, signEnvelope());
    assert.deepEqual(emulator.listForwarded(), ["us POST /router/v1/crm_b/"]);

    await emulator.map("emails", "eu-1", [hashEmail("ada@northwind.example")]);
    await open(emulator, signEnvelope());
    assert.deepEqual(emulator.listForwarded(), ["eu POST /router/v1/crm_b/"]);
  });

  it("does not require a context or an algorithm", async (t) => {
    const emulator = await startRoutedEmulator(t, { apps });
    assert.equal((await open(emulator, signEnvelope({ issuedAt: null }))).status, 200);
    assert.deepEqual(emulator.listForwarded(), ["eu POST /router/v1/crm_b/"]);
  });

  it("forwards a GET request by its query, or to the first cluster", async (t) => {
    const emulator = await startRoutedEmulator(t, { apps });
    for (const query of ["", "?cluster_id=us-1"]) await emulator.router("GET", path + query);
    assert.deepEqual(emulator.listForwarded(), [`eu GET ${path}`, `us GET ${path}?cluster_id=us-1`]);
  });

  it("reports an unreachable cluster", async (t) => {
    const emulator = await startRoutedEmulator(t, { apps });
    emulator.eu.respond((_, response) => response.destroy());
    const expected = { status: 502, body: { detail: "Cluster eu-1 is unreachable" } };
    assert.deepEqual(pickStatusAndBody(await open(emulator, signEnvelope())), expected);
    assert.deepEqual(pickStatusAndBody(await emulator.router("GET", path)), expected);
  });

  it("rejects a request with an invalid signature", async (t) => {
    const emulator = await startRoutedEmulator(t, { apps });
    const [mac, text] = signEnvelope().split(".") as [string, string];
    for (const attempt of [
      "garbage",
      `.${text}`,
      `${mac}.`,
      `${mac}.${Buffer.from('{"algorithm":"HMACSHA256"}').toString("base64")}`,
      signCrmB("else", JSON.stringify(envelope)),
      signEnvelope({ ...envelope, algorithm: "HMACMD5" }),
      signCrmB(secret, "[]"),
      signCrmB(secret, "{{{"),
    ]) {
      const expected = { status: 401, body: { detail: "Invalid signed request" } };
      assert.deepEqual(pickStatusAndBody(await open(emulator, attempt)), expected, attempt);
    }
  });

  it("reports the missing field in FastAPI's format", async (t) => {
    const emulator = await startRoutedEmulator(t, { apps });
    for (const text of ["other=1", "signed_request="]) {
      const { status, body } = pickStatusAndBody(await emulator.router("POST", path, { body: text, headers: form }));
      assert.equal(status, 422);
      assert.deepEqual(
        (body as { detail: { loc: unknown; type: string }[] }).detail.map(({ loc, type }) => [loc, type]),
        [[["body", "signed_request"], "missing"]],
      );
    }
  });

  describe("index_url_override", () => {
    const formatOverride = (url: string) => `?index_url_override=${encodeURIComponent(url)}`;

    it("is forwarded if it is empty or in the seed's list", async (t) => {
      const emulator = await startRoutedEmulator(t, { apps });
      for (const query of [formatOverride("https://front.example/app/?v=2"), formatOverride("")]) {
        assert.equal((await open(emulator, signEnvelope(), query)).status, 200);
        assert.equal((await emulator.router("GET", path + query)).status, 200);
        assert.deepEqual(emulator.listForwarded(), [`eu POST ${path}${query}`, `eu GET ${path}${query}`]);
      }
    });

    it("is rejected for any other origin", async (t) => {
      const emulator = await startRoutedEmulator(t, { apps });
      for (const url of [
        "https://else.example/",
        "http://front.example/",
        "https://front.example:8443/",
        "https://front.example@else.example/",
        "https://front.example.else.example/",
        "javascript:alert(1)",
        "data:text/html,x",
        "/relative",
        "%",
      ]) {
        const expected = { status: 400, body: { detail: "index_url_override is not an allowed origin" } };
        assert.deepEqual(pickStatusAndBody(await open(emulator, signEnvelope(), formatOverride(url))), expected, url);
        assert.deepEqual(pickStatusAndBody(await emulator.router("GET", path + formatOverride(url))), expected, url);
      }
      assert.deepEqual(emulator.listForwarded(), []);
    });
  });
});
