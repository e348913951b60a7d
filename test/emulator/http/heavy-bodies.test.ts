import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { limitProblems, maxProblems } from "../../../emulator/http/validation/validate.ts";
import { pickStatusAndBody, startTestEmulator } from "../../support/emulator.ts";
import { z } from "./made-up.ts";

const unparsable = { status: 400, body: { detail: "There was an error parsing the body" } };
const list = (unit: string, times: number): string => `[${`${unit},`.repeat(times - 1)}${unit}]`;
const json = { "content-type": "application/json" };
const bulk = "/router/v1/cluster_emails/bulk";

describe("body with too many parts for memory", () => {
  for (const [label, body] of [
    ["values", list("1", 5_000_001)],
    ["objects", list("{}", 5_000_001)],
    ["objects in an unclosed list", list("{}", 5_000_001).slice(0, -1)],
    ["members", `{${Array.from({ length: 1_000_001 }, (_, i) => `"${i}":1`).join(",")}}`],
  ] as const) {
    it(`is rejected without parsing for too many ${label}`, async (t) => {
      const { router, api } = await startTestEmulator(t);
      assert.deepEqual(pickStatusAndBody(await router("POST", bulk, { body, headers: json })), unparsable);
      const { status, body: errorBody } = await api("POST", "/api/v2.1/public/contracts/", { body, headers: json });
      assert.equal(status, 400);
      assert.match(JSON.stringify(errorBody), /The document has more than \d+ (values|members)/);
    });
  }

  it("is parsed if only its strings look like many values", async (t) => {
    const { router } = await startTestEmulator(t);
    const text = `\\",[:{\\\\`.repeat(600_000);
    const body = `{"cluster_id":"eu-1","email_hash_list":["${text}"]}`;
    assert.deepEqual(pickStatusAndBody(await router("POST", bulk, { body, headers: json })), {
      status: 200,
      body: true,
    });
  });

  it("is rejected if it is a form with too many fields", async (t) => {
    const { router } = await startTestEmulator(t);
    const fields = (count: number) => Array.from({ length: count }, (_, i) => `f${i}=1`).join("&");
    const send = (body: string) =>
      router("POST", "/router/v1/crm_b/", { body, headers: { "content-type": "application/x-www-form-urlencoded" } });
    assert.deepEqual(pickStatusAndBody(await send(fields(10_001))), unparsable);
    assert.equal((await send(fields(10_000))).status, 422);
  });

  it("is rejected with Starlette's message for too many multipart parts", async (t) => {
    const { router } = await startTestEmulator(t);
    const send = (count: number, boundary: string) => {
      const parts = '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n\r\n'.repeat(count);
      const headers = { "content-type": `multipart/form-data; boundary=${boundary}` };
      return router("POST", "/router/v1/crm_b/", { body: `${parts}--x--\r\n`, headers });
    };
    const detail = "Too many fields. Maximum number of fields is 1000.";
    assert.deepEqual(pickStatusAndBody(await send(1_001, "x")), { status: 400, body: { detail } });
    assert.deepEqual(pickStatusAndBody(await send(1_001, '"x"')), { status: 400, body: { detail } });
    assert.equal((await send(1_000, "x")).status, 422);
  });
});

describe("validation error of a large body", () => {
  it("reports at most 1,000 problems of a list", async (t) => {
    const { router } = await startTestEmulator(t);
    const body = `{"cluster_id":"eu-1","email_hash_list":${list("1", 300_000)}}`;
    const response = await router("POST", bulk, { body, headers: json });
    const item = { type: "string_type", msg: "Input should be a valid string", input: 1 };
    const detail = Array.from({ length: 1_000 }, (_, i) => ({ ...item, loc: ["body", "email_hash_list", i] }));
    assert.deepEqual(pickStatusAndBody(response), { status: 422, body: { detail } });
  });

  it("quotes short values in full and marks omitted long values", async (t) => {
    const { router } = await startTestEmulator(t);
    const quotedFor = async (more: string) => {
      const body = `{"cluster_id":"eu-1","more":"${more}"}`;
      const { body: errorBody } = await router("POST", bulk, { body, headers: json });
      return (errorBody as { detail: { input: unknown }[] }).detail.map(({ input }) => input);
    };
    assert.deepEqual(await quotedFor("x".repeat(60_000)), [{ cluster_id: "eu-1", more: "x".repeat(60_000) }]);
    assert.deepEqual(await quotedFor("x".repeat(70_000)), ["(omitted: more than 65536 characters)"]);
  });
});

describe("schema with a limit of problems", () => {
  const item = z.object({ a: z.array(z.int()).optional(), b: z.record(z.string(), z.string()).nullish() });
  const schema = limitProblems(z.union([z.array(item), z.object({ list: z.array(z.string()).min(2) })]));

  it("accepts valid values unchanged", () => {
    for (const right of [[], [{ a: [1, 2], b: { x: "y" } }, { b: null }], { list: ["a", "b"] }]) {
      assert.deepEqual(schema.parse(right), right);
    }
  });

  it("rejects invalid values at any position of a long list", () => {
    const long = Array.from({ length: 3 * maxProblems }, () => ({ a: [1] as unknown[] }));
    assert.equal(schema.safeParse(long).success, true);
    assert.equal(schema.safeParse([...long, { a: ["x"] }]).success, false);
    assert.equal(schema.safeParse([...long.map(() => ({ a: ["x"] })), { a: [1] }]).success, false);
    assert.equal(schema.safeParse({ list: ["a"] }).success, false);
  });

  it("counts problems separately for each document", () => {
    const numbers = limitProblems(z.array(z.int()));
    const wrong = Array.from({ length: maxProblems + 5 }, () => "x");
    for (let time = 0; time < 2; time += 1) assert.equal(numbers.safeParse(wrong).error?.issues.length, maxProblems);
    assert.equal(numbers.safeParse([1, 2]).success, true);
    const members = limitProblems(z.record(z.string(), z.int()));
    assert.equal(members.safeParse(Object.fromEntries(wrong.map((x, i) => [i, x]))).error?.issues.length, maxProblems);
  });
});
