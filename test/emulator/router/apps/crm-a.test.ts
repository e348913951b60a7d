import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { hashEmail } from "../../../../src/base/email-address.ts";
import { type CrmAVersion, signCrmA } from "../../../../src/schemes/connected-apps.ts";
import { pickStatusAndBody } from "../../../support/emulator.ts";
import { type RoutedEmulator, startRoutedEmulator } from "../../../support/routed-emulator.ts";

const iframe = "/router/v1/crm_a/iframe";
const cards = "/router/v1/crm_a/cards";
const clientSecret = "11111111-2222-3333-4444-555555555555";
const apps = { crm_a: { client_secret: clientSecret } };
const unauthorizedResponse = { status: 401, body: { detail: "Invalid request signature" } };

/** Virtual time of the tests' clock. */
const now = Date.parse("2031-01-02T03:04:05Z");

interface SigningOptions {
  readonly version?: CrmAVersion;
  readonly at?: number;
  /** Signed URL, if it differs from the requested URL. */
  readonly url?: string;
  readonly secret?: string;
  /** Omits the version header. */
  readonly unnamed?: boolean;
}

function createSignatureHeaders(
  emulator: RoutedEmulator,
  target: string,
  { version = "v3", at = now, url, secret, unnamed }: SigningOptions,
) {
  const timestamp = version === "v3" ? String(at) : "";
  const signature = signCrmA({
    version,
    clientSecret: secret ?? clientSecret,
    method: "GET",
    url: url ?? emulator.routerUrl + target,
    body: "",
    timestamp,
  });
  return {
    "x-crm-a-signature": signature,
    ...(!unnamed && { "x-crm-a-signature-version": version }),
    ...(timestamp && { "x-crm-a-signature-timestamp": timestamp }),
  };
}

const open = (emulator: RoutedEmulator, target: string, signing: SigningOptions = {}) =>
  emulator.router("GET", target, { headers: createSignatureHeaders(emulator, target, signing) });

const start = (t: TestContext, options: object = {}) => startRoutedEmulator(t, { apps, ...options });

const getLastFindings = async (emulator: RoutedEmulator) =>
  ((await emulator.control("GET", "requests?service=router")).body as { items: { findings: object[] }[] }).items.at(-1)
    ?.findings;

describe("crm_a", () => {
  it("forwards a request to the owner of the queried object or the first cluster", async (t) => {
    const emulator = await start(t);
    await emulator.map("clients", "us-1", ["cli"]);
    await emulator.map("emails", "us-1", [hashEmail("ada@example.com")]);
    await emulator.map("integrations", "us-1", ["77"]);
    for (const [query, clusterName] of [
      ["portalId=62515", "eu"],
      ["cluster_id=us-1", "us"],
      ["client_id=cli", "us"],
      ["userEmail=Ada%40example.com", "us"],
      ["portalId=77", "us"],
    ]) {
      for (const path of [iframe, cards]) {
        await open(emulator, `${path}?${query}&name=A%20%26%20B`);
        assert.deepEqual(emulator.listForwarded(), [`${clusterName} GET ${path}?${query}&name=A%20%26%20B`]);
      }
    }
  });

  it("returns the cluster's page, cards and redirects", async (t) => {
    const emulator = await start(t);
    emulator.eu.respond((_, response) =>
      response.writeHead(302, { location: "https://eu.example/contracts/T-1" }).end(),
    );
    const moved = await open(emulator, `${iframe}?contract_id=T-1`);
    assert.deepEqual([moved.status, moved.headers.get("location")], [302, "https://eu.example/contracts/T-1"]);
    emulator.eu.respond((_, response) =>
      response.writeHead(200, { "content-type": "application/json" }).end('{"results":[]}'),
    );
    assert.deepEqual(pickStatusAndBody(await open(emulator, cards)), { status: 200, body: { results: [] } });
  });

  it("reports an unreachable cluster", async (t) => {
    const emulator = await start(t);
    emulator.eu.respond((_, response) => response.destroy());
    assert.deepEqual(pickStatusAndBody(await open(emulator, cards)), {
      status: 502,
      body: { detail: "Cluster eu-1 is unreachable" },
    });
  });

  it("accepts every signature version over the unchanged target", async (t) => {
    const emulator = await start(t);
    const target = `${cards}?portalId=62515&name=A%20%26%20B&when=10:30&u=https%3A%2f%2Fx.example%2Fp?a%3D1`;
    for (const version of ["v1", "v2", "v3"] as const) {
      assert.equal((await open(emulator, target, { version })).status, 200, version);
    }
  });

  it("assumes v3 with a timestamp and v1 without, if the version is missing", async (t) => {
    const emulator = await start(t);
    assert.equal((await open(emulator, cards, { version: "v3", unnamed: true })).status, 200);
    assert.equal((await open(emulator, cards, { version: "v1", unnamed: true })).status, 200);
    assert.deepEqual(
      pickStatusAndBody(await open(emulator, cards, { version: "v2", unnamed: true })),
      unauthorizedResponse,
    );
  });

  it("accepts only a signature that is fresh by either clock", async (t) => {
    const emulator = await start(t);
    for (const at of [now, now - 300_000, Date.now()]) assert.equal((await open(emulator, cards, { at })).status, 200);
    const strict = await start(t, { strict: ["signatures"] });
    assert.deepEqual(
      pickStatusAndBody(await open(strict, cards, { at: Date.now() - 1_000_000 })),
      unauthorizedResponse,
    );
    assert.deepEqual(pickStatusAndBody(await open(strict, cards, { at: now - 300_001 })), unauthorizedResponse);
  });

  it("verifies signatures over the public URL if it differs from the listener's", async (t) => {
    const emulator = await start(t, { publicUrl: "https://router.example" });
    assert.equal((await open(emulator, `${iframe}?a=1`, { url: `https://router.example${iframe}?a=1` })).status, 200);
    assert.deepEqual(pickStatusAndBody(await open(emulator, `${iframe}?a=1`)), unauthorizedResponse);
    assert.deepEqual(await getLastFindings(emulator), [
      {
        code: "crm-a-signature-refused",
        detail: "mismatch: the URL in a v2 or v3 signature must begin with https://router.example",
      },
    ]);
  });

  it("rejects missing and wrong signatures", async (t) => {
    const emulator = await start(t);
    const good = createSignatureHeaders(emulator, cards, {});
    const attempts: Record<string, Record<string, string>> = {
      "without a signature": { "x-crm-a-signature-version": "v3", "x-crm-a-signature-timestamp": String(now) },
      "with an empty one": { ...good, "x-crm-a-signature": "" },
      "with another secret": createSignatureHeaders(emulator, cards, { secret: "else" }),
      "of another URL": createSignatureHeaders(emulator, cards, { url: `${emulator.routerUrl}/else` }),
      "of an unknown version": { ...good, "x-crm-a-signature-version": "v4" },
      "with another timestamp": { ...good, "x-crm-a-signature-timestamp": String(now + 1) },
      "with a timestamp that is none": { ...good, "x-crm-a-signature-timestamp": `${now}.0` },
    };
    for (const path of [cards, iframe]) {
      for (const [name, headers] of Object.entries(attempts)) {
        assert.deepEqual(
          pickStatusAndBody(await emulator.router("GET", path, { headers })),
          unauthorizedResponse,
          `${path} ${name}`,
        );
      }
      assert.deepEqual(pickStatusAndBody(await emulator.router("GET", path)), unauthorizedResponse);
    }
    assert.deepEqual(emulator.listForwarded(), []);
  });

  it("reports signature version 1 as a finding, and rejects it with --strict=signatures", async (t) => {
    const emulator = await start(t);
    await open(emulator, cards, { version: "v1" });
    assert.deepEqual(await getLastFindings(emulator), [
      { code: "crm-a-signature-v1", detail: "version 1 of a GET signs only the secret" },
    ]);
    const strict = await start(t, { strict: ["signatures"] });
    assert.deepEqual(pickStatusAndBody(await open(strict, cards, { version: "v1" })), unauthorizedResponse);
    assert.equal((await open(strict, cards, { version: "v2" })).status, 200);
  });
});
