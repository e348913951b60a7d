import assert from "node:assert/strict";
import { describe, it } from "node:test";
import vectors from "../../fixtures/vectors/signatures-and-protocols.json" with { type: "json" };
import { type CrmAVersion, signCrmA, verifyCrmA } from "../../src/schemes/connected-apps.ts";

const { crm_a: crmA } = vectors;
const v3 = crmA.vectors.find(({ id }) => id === "A7")!;

const createSignedRequest = (vector: (typeof crmA.vectors)[number]) => ({
  version: vector.version as CrmAVersion,
  clientSecret: vector.client_secret,
  method: vector.method ?? "",
  url: vector.uri ?? "",
  body: vector.body,
  timestamp: vector.timestamp ?? "",
});

const verify = (change: Partial<Parameters<typeof verifyCrmA>[0]>) =>
  verifyCrmA({ ...createSignedRequest(v3), signature: v3.signature, nowMs: Number(v3.timestamp), ...change });

describe("crm_a signature", () => {
  for (const vector of crmA.vectors) {
    it(`equals vector ${vector.id} (${vector.version})`, () => {
      assert.equal(signCrmA(createSignedRequest(vector)), vector.signature);
      const nowMs = Number(vector.timestamp ?? 0);
      const verdict = verifyCrmA({ ...createSignedRequest(vector), signature: vector.signature, nowMs });
      assert.deepEqual(verdict, { ok: true, version: vector.version });
    });
  }

  it("decodes exactly twelve percent-encoded characters for v3 in either case", () => {
    const sign = (url: string) => signCrmA({ ...createSignedRequest(v3), url });
    for (const [encoded, meant] of Object.entries(crmA.decode_only_in_query)) {
      assert.equal(sign(`https://h/?a=${encoded}`), sign(`https://h/?a=${meant}`), encoded);
      assert.equal(sign(`https://h/?a=${encoded.toLowerCase()}`), sign(`https://h/?a=${meant}`), encoded);
    }
    for (const [encoded, meant] of Object.entries({ "%20": " ", "%26": "&", "%3D": "=", "%2B": "+", "%25": "%" })) {
      assert.notEqual(sign(`https://h/?a=${encoded}`), sign(`https://h/?a=${meant}`), encoded);
    }
    assert.equal(Object.keys(crmA.decode_only_in_query).length, 12);
  });

  it("excludes the URL fragment", () =>
    assert.deepEqual(verify({ url: `${v3.uri}#part` }), { ok: true, version: "v3" }));

  for (const { age_ms: age, ok } of crmA.age_cases) {
    it(`${ok ? "accepts" : "rejects"} a v3 request that is ${age} ms old`, () =>
      assert.deepEqual(
        verify({ nowMs: Number(v3.timestamp) + age }),
        ok ? { ok: true, version: "v3" } : { ok: false, reason: "stale" },
      ));
  }

  it("assumes v3 with a timestamp and v1 without one", () => {
    const v1 = crmA.vectors.find(({ id }) => id === "A4")!;
    const guess = verify({
      ...createSignedRequest(v1),
      version: undefined,
      timestamp: undefined,
      signature: v1.signature,
    });
    assert.deepEqual(
      [verify({ version: undefined }), guess],
      [
        { ok: true, version: "v3" },
        { ok: true, version: "v1" },
      ],
    );
  });

  const rejectedCases: [string, Partial<Parameters<typeof verifyCrmA>[0]>, string][] = [
    ["no signature", { signature: undefined }, "missing"],
    ["an unknown version", { version: "v4" }, "unknown-version"],
    ["a fractional timestamp", { timestamp: `${v3.timestamp}.0` }, "stale"],
    ["no timestamp under v3", { timestamp: undefined }, "stale"],
    ["another method", { method: "POST" }, "mismatch"],
    ["another body", { body: "undefined" }, "mismatch"],
    [
      "another order of the query",
      { url: v3.uri!.replace("portalId=62515&name=A%20%26%20B", "name=A%20%26%20B&portalId=62515") },
      "mismatch",
    ],
    ["another secret", { clientSecret: "x" }, "mismatch"],
    ["a v3 signature declared as v2", { version: "v2" }, "mismatch"],
  ];
  for (const [label, change, reason] of rejectedCases) {
    it(`rejects ${label}`, () => assert.deepEqual(verify(change), { ok: false, reason }));
  }
});
