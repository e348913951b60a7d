import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { measureCostRatio } from "../support/cost-ratio.ts";
import { createSender, startTestEmulator } from "../support/emulator.ts";

const length = 150_000;
/** Maximum ratio of the two durations. Quadratic time would be some thousand times as long as linear time. */
const generous = 60;

/** Returns a string of the same length without the characters that can be slow. */
const createHarmlessText = (text: string): string => "a".repeat(text.length);

describe("processing time of a long string", () => {
  const form = { "content-type": "application/x-www-form-urlencoded" };
  for (const [name, text] of [
    ["padding", "=".repeat(length)],
    ["padding before a character", `${"=".repeat(length)}a`],
    ["padding and a period", `${"=".repeat(length)}a.${"=".repeat(length)}a`],
  ] as const) {
    it(`is proportional to its length in a signed request: ${name}`, async (t) => {
      const { router } = await startTestEmulator(t);
      const send = (signed: string) => async () => {
        const body = new URLSearchParams({ signed_request: `${signed}.x` }).toString();
        assert.equal((await router("POST", "/router/v1/crm_b/", { body, headers: form })).status, 401);
      };
      const times = await measureCostRatio(send(text), send(createHarmlessText(text)), generous);
      assert.ok(times < generous, `${times} times as long`);
    });
  }

  for (const [name, unit] of [
    ["dots", "."],
    ["blanks", " "],
    ["dots and blanks", ". "],
    ["slashes", "/"],
    ["characters with unordered accents", "a\u0315\u0300\u05ae\u0062"],
    ["unordered accents", "\u0315\u0300"],
    ["backslashes", "\\"],
  ] as const) {
    it(`is proportional to its length in a file name: ${name}`, async (t) => {
      const { api } = await startTestEmulator(t);
      const text = unit.repeat(length / unit.length);
      const send = (filename: string) => async () => {
        const files = [{ filename: `${filename}a`, content_type: "application/pdf" }];
        const response = await api("POST", "/api/v2.1/public/workspace/files/uploads/", { body: { files } });
        assert.ok(response.status < 300, `${response.status} ${JSON.stringify(response.body)}`);
      };
      const times = await measureCostRatio(send(text), send(createHarmlessText(text)), generous);
      assert.ok(times < generous, `${times} times as long`);
    });
  }

  it("is proportional to its length in an unknown path", async (t) => {
    const { clusters } = await startTestEmulator(t);
    const send = (path: string) => async () =>
      assert.equal((await createSender(clusters[0]!.url)("GET", `/api/v2.1/public/${path}`)).status, 404);
    for (const path of ["a/".repeat(7_000), "a".repeat(14_000)]) {
      const times = await measureCostRatio(send(path), send("nothing/like/it"), generous);
      assert.ok(times < generous, `${times} times as long`);
    }
  });
});

describe("long list of signatories", () => {
  it("is rejected without an emulator error", async (t) => {
    const { api } = await startTestEmulator(t);
    const signatory = { name: "A", email: "a@b.example", is_counterparty_signatory: true, counterparty_name: "X" };
    const body = {
      contract_template_id: 1,
      counter_party_details: [],
      signatories: Array.from({ length: 150_000 }, () => signatory),
      contract_data: {},
    };
    const { status } = await api("POST", "/api/v2.1/public/contracts/", { body });
    assert.equal(status, 400);
  });
});
