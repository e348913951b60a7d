import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import {
  contracts,
  createOperation,
  createSingleOperationPart,
  echo,
  emulator,
  form,
  json,
  router,
  z,
} from "./made-up.ts";
import { startTestServer } from "./serving.ts";

const jsonType = { "content-type": "application/json" };

const intake = z.strictObject({
  title: z.string().min(1).max(5),
  priority: z.enum(["LOW", "MEDIUM", "HIGH"]).optional(),
  limit: z.int().max(100).min(1).optional(),
  weight: z.number().gt(0).optional(),
  urgent: z.boolean().optional(),
  kind: z.literal("K").optional(),
  metadata: z.record(z.string(), z.string()).optional(),
  assignees: z
    .array(z.object({ entity_id: z.int() }))
    .max(2)
    .min(1)
    .optional(),
  id: z.union([z.string(), z.int()]).optional(),
  code: z
    .string()
    .regex(/^[A-Z]+$/)
    .optional(),
  link: z.url("Enter a valid HTTPS URL.").optional(),
  when: z.iso.date().optional(),
  due: z
    .string()
    .refine((text) => text !== "never", "Due must be a day.")
    .optional(),
});

async function sendInvalidBody(t: TestContext, service: typeof contracts | typeof emulator, body: unknown) {
  const path = service === emulator ? "/_emulator/made" : "/made";
  const { send, log } = await startTestServer(t, [
    createSingleOperationPart(createOperation(service, "POST", path, { body: json(intake) }), echo),
  ]);
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await send("POST", path, { headers: jsonType, body: text });
  return { status: response.status, failure: log.list()[0]!.failure, body: JSON.parse(response.body) };
}

describe("contract API validation error", () => {
  for (const [label, body, fields] of [
    ["a missing field", {}, { title: ["Field required"] }],
    ["a missing body", "", { title: ["Field required"] }],
    ["a wrong type", { title: 1 }, { title: ["Input should be a valid string"] }],
    ["null for a string", { title: null }, { title: ["Input should be a valid string"] }],
    ["a list for a string", { title: [] }, { title: ["Input should be a valid string"] }],
    ["a string for a list", { title: "a", assignees: "" }, { assignees: ["Input should be a valid list"] }],
    ["an object for a list", { title: "a", assignees: { length: 3 } }, { assignees: ["Input should be a valid list"] }],
    ["too few characters", { title: "" }, { title: ["String should have at least 1 character"] }],
    ["too many characters", { title: "123456" }, { title: ["String should have at most 5 characters"] }],
    ["an unknown choice", { title: "a", priority: "low" }, { priority: ["Input should be 'LOW', 'MEDIUM' or 'HIGH'"] }],
    ["a value other than the only choice", { title: "a", kind: "k" }, { kind: ["Input should be 'K'"] }],
    ["a number too large", { title: "a", limit: 101 }, { limit: ["Input should be less than or equal to 100"] }],
    ["a number too small", { title: "a", limit: 0 }, { limit: ["Input should be greater than or equal to 1"] }],
    [
      "a number equal to an exclusive minimum",
      { title: "a", weight: 0 },
      { weight: ["Input should be greater than 0"] },
    ],
    [
      "a fraction for an integer",
      { title: "a", limit: 1.5 },
      { limit: ["Input should be a valid integer, got a number with a fractional part"] },
    ],
    ["a list for an integer", { title: "a", limit: [] }, { limit: ["Input should be a valid integer"] }],
    ["a list for a number", { title: "a", weight: [] }, { weight: ["Input should be a valid number"] }],
    ["a list for a boolean", { title: "a", urgent: [] }, { urgent: ["Input should be a valid boolean"] }],
    ["a fraction for a boolean", { title: "a", urgent: 0.5 }, { urgent: ["Input should be a valid boolean"] }],
    [
      "a whole number for a boolean",
      '{"title":"a","urgent":2.0}',
      { urgent: ["Input should be a valid boolean, unable to interpret input"] },
    ],
    ["a list for an object", { title: "a", metadata: [] }, { metadata: ["Input should be a valid dictionary"] }],
    [
      "a wrong value in a map",
      { title: "a", metadata: { k: 1 } },
      { metadata: { k: ["Input should be a valid string"] } },
    ],
    [
      "invalid rows by index",
      { title: "a", assignees: [{ entity_id: 1 }, {}] },
      { assignees: { "1": { entity_id: ["Field required"] } } },
    ],
    [
      "too few rows",
      { title: "a", assignees: [] },
      { assignees: ["List should have at least 1 item after validation, not 0"] },
    ],
    [
      "too many rows",
      { title: "a", assignees: [{ entity_id: 1 }, { entity_id: 1 }, { entity_id: 1 }] },
      { assignees: ["List should have at most 2 items after validation, not 3"] },
    ],
    ["an unknown field", { title: "a", colour: "red" }, { colour: ["Extra inputs are not permitted"] }],
    ["a value that matches no alternative", { title: "a", id: true }, { id: ["Input should be a valid string"] }],
    ["a pattern mismatch", { title: "a", code: "x" }, { code: ["String should match pattern '^[A-Z]+$'"] }],
    ["an invalid link with the declared message", { title: "a", link: "x" }, { link: ["Enter a valid HTTPS URL."] }],
    ["an invalid date", { title: "a", when: "x" }, { when: ["Input should be a valid date"] }],
    ["a custom rule violation", { title: "a", due: "never" }, { due: ["Due must be a day."] }],
    ["a list for the whole body", [], { non_field_errors: ["Invalid data. Expected a dictionary, but got list."] }],
    ["a string for the whole body", '"x"', { non_field_errors: ["Invalid data. Expected a dictionary, but got str."] }],
    [
      "a boolean for the whole body",
      "true",
      { non_field_errors: ["Invalid data. Expected a dictionary, but got bool."] },
    ],
    ["a number for the whole body", "1", { non_field_errors: ["Invalid data. Expected a dictionary, but got int."] }],
    [
      "null for the whole body",
      "null",
      { non_field_errors: ["Invalid data. Expected a dictionary, but got NoneType."] },
    ],
    [
      "several invalid fields at once",
      { title: 1, limit: "x", assignees: [{ entity_id: "y" }] },
      {
        title: ["Input should be a valid string"],
        limit: ["Input should be a valid integer, unable to parse string as an integer"],
        assignees: { "0": { entity_id: ["Input should be a valid integer, unable to parse string as an integer"] } },
      },
    ],
  ] as const) {
    it(`reports ${label}`, async (t) => {
      assert.deepEqual(await sendInvalidBody(t, contracts, body), {
        status: 400,
        failure: "invalid-fields",
        body: fields,
      });
    });
  }
});

describe("unreadable body in the contract API", () => {
  for (const [body, problem] of [
    ["{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"],
    ['{\n"é😀": x}', "Expecting value: line 2 column 7 (char 8)"],
    ['{"a": NaN}', "Out of range float values are not JSON compliant: 'NaN'"],
    ["[-Infinity]", "Out of range float values are not JSON compliant: '-Infinity'"],
    ["[[".repeat(600), "The document is nested too deeply"],
    [`{"a":${"9".repeat(4_301)}}`, "The document has an integer of more than 4300 digits"],
  ] as const) {
    it(`is rejected with a parse error: ${JSON.stringify(body.slice(0, 20))}`, async (t) => {
      assert.deepEqual(await sendInvalidBody(t, contracts, body), {
        status: 400,
        failure: "json-parse-error",
        body: { detail: `JSON parse error - ${problem}` },
      });
    });
  }

  it("is rejected because of its content type", async (t) => {
    const { send } = await startTestServer(t, [
      createSingleOperationPart(createOperation(contracts, "POST", "/made", { body: json(intake) }), echo),
    ]);
    const responses = [];
    for (const type of ["text/plain", "application/x-www-form-urlencoded", undefined]) {
      const { status, body } = await send("POST", "/made", {
        ...(type && { headers: { "content-type": type } }),
        body: "{}",
      });
      responses.push([status, JSON.parse(body).detail]);
    }
    assert.deepEqual(responses, [
      [415, 'Unsupported media type "text/plain" in request.'],
      [415, 'Unsupported media type "application/x-www-form-urlencoded" in request.'],
      [415, 'Unsupported media type "" in request.'],
    ]);
  });
});

describe("invalid ID in a path", () => {
  const params = { params: z.object({ id: z.int() }) };
  it("is reported as not found if the operation declares that failure", async (t) => {
    const operation = createOperation(contracts, "GET", "/made/{id}", params, { failures: ["not-found"] });
    const { send } = await startTestServer(t, [createSingleOperationPart(operation, echo)]);
    const response = await send("GET", "/made/T-1");
    assert.deepEqual([response.status, response.body], [404, '{"detail":"Not found."}']);
    assert.deepEqual(JSON.parse((await send("GET", "/made/17")).body).params, { id: 17 });
  });

  it("is reported as an invalid field otherwise", async (t) => {
    const { send } = await startTestServer(t, [
      createSingleOperationPart(createOperation(contracts, "GET", "/made/{id}", params), echo),
    ]);
    const response = await send("GET", "/made/T-1");
    const message = "Input should be a valid integer, unable to parse string as an integer";
    assert.deepEqual([response.status, JSON.parse(response.body)], [400, { id: [message] }]);
  });
});

describe("control plane validation error", () => {
  for (const [label, body, message] of [
    [
      "all invalid fields",
      { title: 1, limit: 0 },
      "title: Input should be a valid string; limit: Input should be greater than or equal to 1",
    ],
    ["a list for the whole body", [], "body: Input should be a valid dictionary or object to extract fields from"],
    ["malformed JSON", "{", "body: not JSON, Expecting property name enclosed in double quotes at character 1"],
    ["a missing body", "", "body: Field required"],
  ] as const) {
    it(`reports ${label}`, async (t) => {
      assert.deepEqual(await sendInvalidBody(t, emulator, body), {
        status: 400,
        failure: "invalid-control-input",
        body: { error: { code: "invalid_input", message } },
      });
    });
  }

  it("reports invalid content types, queries and paths", async (t) => {
    const operation = createOperation(emulator, "POST", "/_emulator/made/{id}", {
      params: z.object({ id: z.int() }),
      query: z.object({ limit: z.int() }),
      body: json(z.object({}).optional()),
    });
    const { send } = await startTestServer(t, [createSingleOperationPart(operation, echo)]);
    const response = await send("POST", "/_emulator/made/x?limit=y");
    const integer = "Input should be a valid integer, unable to parse string as an integer";
    assert.equal(JSON.parse(response.body).error.message, `path id: ${integer}; query limit: ${integer}`);
    const type = await send("POST", "/_emulator/made/1?limit=1", {
      headers: { "content-type": "text/plain" },
      body: "{}",
    });
    assert.equal(JSON.parse(type.body).error.message, 'body: content-type must be application/json, not "text/plain"');
    assert.equal((await send("POST", "/_emulator/made/1?limit=1")).status, 200);
  });
});

describe("router validation error", () => {
  it("lists path, query, header and body errors in this order", async (t) => {
    const operation = createOperation(router, "POST", "/made/{kind}", {
      params: z.object({ kind: z.enum(["A", "B"]) }),
      query: z.object({ q: z.string() }),
      headers: z.object({ "x-req": z.string() }),
      body: json(z.object({ rows: z.array(z.object({ id: z.string(), type: z.enum(["T"]) })) })),
    });
    const { send } = await startTestServer(t, [createSingleOperationPart(operation, echo)]);
    const response = await send("POST", "/made/C", { headers: jsonType, body: '{"rows":[{"id":1.0},7]}' });
    const expected = { expected: "'A' or 'B'" };
    assert.equal(
      response.body,
      JSON.stringify({
        detail: [
          { type: "enum", loc: ["path", "kind"], msg: "Input should be 'A' or 'B'", input: "C", ctx: expected },
          { type: "missing", loc: ["query", "q"], msg: "Field required", input: null },
          { type: "missing", loc: ["header", "x-req"], msg: "Field required", input: null },
          { type: "string_type", loc: ["body", "rows", 0, "id"], msg: "Input should be a valid string", input: "1.0" },
          { type: "missing", loc: ["body", "rows", 0, "type"], msg: "Field required", input: { id: "1.0" } },
          {
            type: "model_attributes_type",
            loc: ["body", "rows", 1],
            msg: "Input should be a valid dictionary or object to extract fields from",
            input: 7,
          },
        ],
      }).replaceAll('"1.0"', "1.0"),
    );
  });

  it("describes a nullable field without its union type", async (t) => {
    const schema = z.object({ last_name: z.string().nullish(), users: z.array(z.string()).nullable() });
    const { send } = await startTestServer(t, [
      createSingleOperationPart(createOperation(router, "POST", "/made", { body: json(schema) }), echo),
    ]);
    const response = await send("POST", "/made", { headers: jsonType, body: '{"last_name":1,"users":[2]}' });
    assert.deepEqual(JSON.parse(response.body).detail, [
      { type: "string_type", loc: ["body", "last_name"], msg: "Input should be a valid string", input: 1 },
      { type: "string_type", loc: ["body", "users", 0], msg: "Input should be a valid string", input: 2 },
    ]);
    assert.equal((await send("POST", "/made", { headers: jsonType, body: '{"users":null}' })).status, 200);
  });

  it("reports NaN as the whole body, as null", async (t) => {
    const { send } = await startTestServer(t, [
      createSingleOperationPart(createOperation(router, "POST", "/made", { body: json(intake) }), echo),
    ]);
    const { status, body } = await send("POST", "/made", { headers: jsonType, body: "NaN" });
    const msg = "Input should be a valid dictionary or object to extract fields from";
    const detail = [{ type: "model_attributes_type", loc: ["body"], msg, input: null }];
    assert.deepEqual({ status, body: JSON.parse(body) }, { status: 422, body: { detail } });
  });

  it("quotes a form as it was sent", async (t) => {
    const schema = z.object({ kind: z.enum(["A"]), b: z.string() });
    const { send } = await startTestServer(t, [
      createSingleOperationPart(createOperation(router, "POST", "/made", { body: form(schema) }), echo),
    ]);
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const response = await send("POST", "/made", { headers, body: "kind=x&c=1" });
    assert.deepEqual(JSON.parse(response.body).detail, [
      { type: "enum", loc: ["body", "kind"], msg: "Input should be 'A'", input: "x", ctx: { expected: "'A'" } },
      { type: "missing", loc: ["body", "b"], msg: "Field required", input: { kind: "x", c: "1" } },
    ]);
  });
});
