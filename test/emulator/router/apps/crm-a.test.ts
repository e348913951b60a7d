import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type CrmAVersion, signCrmA } from "../../../../src/schemes/crm-a.ts";
import { plain } from "../../../support/emulator.ts";
import { type Routed, routed } from "../../../support/routed.ts";

const iframe = "/router/v1/crm_a/iframe";
const cards = "/router/v1/crm_a/cards";
const clientSecret = "11111111-2222-3333-4444-555555555555";
const apps = { crm_a: { client_secret: clientSecret } };
const refused = { status: 401, body: { detail: "Invalid request signature" } };

/** Virtual time of the tests' clock. */
const now = Date.parse("2031-01-02T03:04:05Z");

interface Signing {
  readonly version?: CrmAVersion;
  readonly at?: number;
  /** The URL that is signed, where it is not the one that is asked. */
  readonly url?: string;
  readonly secret?: string;
  /** Leaves the header of the version out. */
  readonly unnamed?: boolean;
}

function signatureFor(world: Routed, target: string, { version = "v3", at = now, url, secret, unnamed }: Signing) {
  const timestamp = version === "v3" ? String(at) : "";
  const signature = signCrmA({
    version,
    clientSecret: secret ?? clientSecret,
    method: "GET",
    url: url ?? world.routerUrl + target,
    body: "",
    timestamp,
  });
  return {
    "x-crm-a-signature": signature,
    ...(!unnamed && { "x-crm-a-signature-version": version }),
    ...(timestamp && { "x-crm-a-signature-timestamp": timestamp }),
  };
}

const open = (world: Routed, target: string, signing: Signing = {}) =>
  world.router("GET", target, { headers: signatureFor(world, target, signing) });

const start = (t: TestContext, options: object = {}) => routed(t, { apps, ...options });

const findings = async (world: Routed) =>
  ((await world.ask("GET", "requests?service=router")).body as { items: { findings: object[] }[] }).items.at(-1)
    ?.findings;

describe("crm_a", () => {
  it("redirects to the page of the contract that is named", async (t) => {
    const world = await start(t);
    const answer = await open(world, `${iframe}?contract_id=T-17&portalId=62515`);
    assert.deepEqual(plain(answer), { status: 302, body: "" });
    assert.equal(answer.headers.get("location"), `${world.eu.url}/contracts/T-17`);
    assert.deepEqual(world.reached(), []);
  });

  it("finds the cluster by the identifiers of the query", async (t) => {
    const world = await start(t);
    await world.map("clients", "us-1", ["cli"]);
    for (const named of ["cluster_id=us-1", "client_id=cli"]) {
      const { headers } = await open(world, `${iframe}?${named}&contract_id=17`);
      assert.equal(headers.get("location"), `${world.us.url}/contracts/17`);
    }
  });

  it("lets nothing of a contract id out of the path of its page", async (t) => {
    const world = await start(t);
    const { headers } = await open(world, `${iframe}?contract_id=${encodeURIComponent("../..//evil\r\nx: 1")}`);
    assert.equal(headers.get("location"), `${world.eu.url}/contracts/..%2F..%2F%2Fevil%0D%0Ax%3A%201`);
  });

  it("renders a page that may be framed, with the record in it and no markup of the caller's", async (t) => {
    const world = await start(t);
    const attack = "</script><script>alert(1)</script>";
    const query = new URLSearchParams({ portalId: attack, associatedObjectId: "245", associatedObjectType: "CONTACT" });
    const answer = await open(world, `${iframe}?${query}`);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("content-type"), "text/html; charset=utf-8");
    assert.doesNotMatch(answer.headers.get("content-security-policy") ?? "", /frame-ancestors/);
    const page = String(answer.body);
    assert.ok(!page.includes("<script>alert"), page);
    const [, context = ""] = /<script type="application\/json" id="context">(.*)<\/script>/.exec(page) ?? [];
    assert.deepEqual(JSON.parse(context), {
      cluster_id: "eu-1",
      portal_id: attack,
      object_type: "CONTACT",
      object_id: "245",
    });
  });

  it("lists cards for the record", async (t) => {
    const world = await start(t);
    const action = {
      type: "IFRAME",
      width: 890,
      height: 748,
      uri: `${world.routerUrl}${iframe}?cluster_id=eu-1`,
      label: "Open contracts",
    };
    assert.deepEqual(plain(await open(world, `${cards}?associatedObjectId=245`)), {
      status: 200,
      body: {
        results: [
          {
            objectId: 245,
            title: "Contracts",
            link: `${world.eu.url}/contracts`,
            properties: [{ label: "Cluster", dataType: "STRING", value: "eu" }],
            actions: [action],
          },
        ],
        primaryAction: action,
      },
    });
  });

  it("takes a signature of every version, over the target as it was sent", async (t) => {
    const world = await start(t);
    const target = `${cards}?portalId=62515&name=A%20%26%20B&when=10:30&u=https%3A%2f%2Fx.example%2Fp?a%3D1`;
    for (const version of ["v1", "v2", "v3"] as const) {
      assert.equal((await open(world, target, { version })).status, 200, version);
    }
  });

  it("takes one without a version header for v3 if it has a timestamp, else for v1", async (t) => {
    const world = await start(t);
    assert.equal((await open(world, cards, { version: "v3", unnamed: true })).status, 200);
    assert.equal((await open(world, cards, { version: "v1", unnamed: true })).status, 200);
    assert.deepEqual(plain(await open(world, cards, { version: "v2", unnamed: true })), refused);
  });

  it("takes one that is fresh on either clock, and no other", async (t) => {
    const world = await start(t);
    for (const at of [now, now - 300_000, Date.now()]) assert.equal((await open(world, cards, { at })).status, 200);
    const strict = await start(t, { strict: ["signatures"] });
    assert.deepEqual(plain(await open(strict, cards, { at: Date.now() - 1_000_000 })), refused);
    assert.deepEqual(plain(await open(strict, cards, { at: now - 300_001 })), refused);
  });

  it("signs the public URL where that is not the one it listens on", async (t) => {
    const world = await start(t, { publicUrl: "https://router.example" });
    assert.equal((await open(world, `${iframe}?a=1`, { url: `https://router.example${iframe}?a=1` })).status, 200);
    assert.deepEqual(plain(await open(world, `${iframe}?a=1`)), refused);
  });

  it("refuses what is not signed, or not so", async (t) => {
    const world = await start(t);
    const good = signatureFor(world, cards, {});
    const attempts: Record<string, Record<string, string>> = {
      "without a signature": { "x-crm-a-signature-version": "v3", "x-crm-a-signature-timestamp": String(now) },
      "with an empty one": { ...good, "x-crm-a-signature": "" },
      "with another secret": signatureFor(world, cards, { secret: "else" }),
      "of another URL": signatureFor(world, cards, { url: `${world.routerUrl}/else` }),
      "of an unknown version": { ...good, "x-crm-a-signature-version": "v4" },
      "with another timestamp": { ...good, "x-crm-a-signature-timestamp": String(now + 1) },
      "with a timestamp that is none": { ...good, "x-crm-a-signature-timestamp": `${now}.0` },
    };
    for (const path of [cards, iframe]) {
      for (const [name, headers] of Object.entries(attempts)) {
        assert.deepEqual(plain(await world.router("GET", path, { headers })), refused, `${path} ${name}`);
      }
      assert.deepEqual(plain(await world.router("GET", path)), refused);
    }
  });

  it("notes version 1 as a finding, and refuses it under --strict=signatures", async (t) => {
    const world = await start(t);
    await open(world, cards, { version: "v1" });
    assert.deepEqual(await findings(world), [
      { code: "crm-a-signature-v1", detail: "version 1 of a GET signs nothing but the secret" },
    ]);
    const strict = await start(t, { strict: ["signatures"] });
    assert.deepEqual(plain(await open(strict, cards, { version: "v1" })), refused);
    assert.equal((await open(strict, cards, { version: "v2" })).status, 200);
  });
});
