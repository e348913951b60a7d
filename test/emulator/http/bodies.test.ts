import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { measureCostRatio } from "../../support/cost-ratio.ts";
import {
  contracts,
  createOperation,
  createSingleOperationPart,
  echo,
  emulator,
  form,
  json,
  jsonOrForm,
  raw,
  router,
  stream,
  z,
} from "./made-up.ts";
import { startTestServer } from "./serving.ts";

const jsonType = { "content-type": "application/json" };
const formType = { "content-type": "application/x-www-form-urlencoded" };

/** Posts a body to an operation of the router and returns status and parsed response. */
async function post(t: TestContext, schema: z.ZodType, body: string | Buffer, headers = jsonType) {
  const { send } = await startTestServer(t, [
    createSingleOperationPart(createOperation(router, "POST", "/made", { body: json(schema) }), echo),
  ]);
  const response = await send("POST", "/made", { headers, body });
  return { status: response.status, body: response.body };
}

const anything = z.object({ a: z.any() });
const text = z.object({ a: z.string() });
const unparsable = { status: 400, body: '{"detail":"There was an error parsing the body"}' };

describe("JSON body", () => {
  for (const [sent, echoed] of [
    ["1.0", "1.0"],
    ["1e3", "1000.0"],
    ["-0", "0"],
    ["-0.0", "-0.0"],
    ["12345678901234567890", "12345678901234567890"],
    ["1e16", "1e+16"],
    ["1.5e-7", "1.5e-07"],
    ["123456789012345680.0", "1.2345678901234568e+17"],
    ["NaN", "null"],
    ["-Infinity", "null"],
    ["1e400", "null"],
    ['{"b":1,"1":2,"b":3}', '{"b":3,"1":2}'],
    ['"\\ud800"', undefined],
    ["[true,null,{}]", "[true,null,{}]"],
  ] as const) {
    it(`echoes ${sent} as ${echoed ?? "a string"}`, async (t) => {
      const response = await post(t, text, `{"a":${sent}}`);
      if (echoed === undefined) assert.equal(response.status, 200);
      else {
        const item = `{"type":"string_type","loc":["body","a"],"msg":"Input should be a valid string","input":${echoed}}`;
        assert.deepEqual(response, { status: 422, body: `{"detail":[${item}]}` });
      }
    });
  }

  it("accepts the infinities and NaN of Python among free-form values, as null", async (t) => {
    const response = await post(t, anything, '{"a":[-Infinity,Infinity,NaN,1.10]}');
    assert.deepEqual(response, {
      status: 200,
      body: '{"params":{},"query":{},"headers":{},"body":{"a":[null,null,null,1.1]}}',
    });
  });

  it("is not slower to read for texts that look like marks of exact numbers", async (t) => {
    const { send } = await startTestServer(t, [
      createSingleOperationPart(createOperation(router, "POST", "/made", { body: json(anything) }), echo),
    ]);
    const write = (word: string) => {
      const marks = Array.from({ length: 20_000 }, (_, at) => `${word}${at}:`).join("");
      return () => send("POST", "/made", { headers: jsonType, body: `{"a":[1.10,"${marks}"]}` });
    };
    const times = await measureCostRatio(write("exact"), write("other"), 5);
    assert.ok(times < 5, `it takes ${times} times as long`);
  });

  it("echoes a lone surrogate as U+FFFD", async (t) => {
    const response = await post(t, z.object({ a: z.array(z.string()) }), '{"a":"x\\udc00y"}');
    assert.equal(JSON.parse(response.body).detail[0].input, "x\ufffdy");
  });

  it("can be UTF-16, or start with a byte order mark", async (t) => {
    const document = '{"a":"é😀"}';
    const utf16be = Buffer.from(`\ufeff${document}`, "utf16le").swap16();
    const bodies = [Buffer.from(`\ufeff${document}`), Buffer.from(document, "utf16le"), utf16be];
    const responses = await Promise.all(bodies.map((body) => post(t, text, body)));
    assert.deepEqual(
      responses,
      bodies.map(() => ({ status: 200, body: '{"params":{},"query":{},"headers":{},"body":{"a":"é😀"}}' })),
    );
  });

  it("is rejected if it is not valid UTF-8", async (t) => {
    assert.deepEqual(await post(t, anything, Buffer.from([0x7b, 0xff, 0x7d])), unparsable);
    assert.deepEqual(await post(t, anything, Buffer.from([0x61, 0xff]), { "content-type": "text/plain" }), unparsable);
  });

  it("can be nested up to 1,000 levels deep", async (t) => {
    const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
    assert.equal((await post(t, z.any(), nested(1_000))).status, 200);
    assert.deepEqual(await post(t, z.any(), nested(1_001)), unparsable);
    assert.deepEqual(await post(t, z.any(), nested(100_000)), unparsable);
    const inString = JSON.stringify({ a: `${"[".repeat(5_000)}` });
    assert.equal((await post(t, anything, inString)).status, 200);
  });

  it("can contain integers of up to 4,300 digits", async (t) => {
    const createDocument = (digits: number) => `{"a":"${"x".repeat(777)}","b":${"1".repeat(digits)}}`;
    assert.equal((await post(t, anything, createDocument(4_300))).status, 200);
    assert.deepEqual(await post(t, anything, createDocument(4_301)), unparsable);
    assert.deepEqual(await post(t, z.any(), "1".repeat(4_301)), unparsable);
    assert.equal((await post(t, anything, JSON.stringify({ a: "1".repeat(9_000) }))).status, 200);
  });

  it("can contain the names of JavaScript's built-in properties", async (t) => {
    const sent = '{"a":"x","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}';
    assert.deepEqual(await post(t, text, sent), {
      status: 200,
      body: '{"params":{},"query":{},"headers":{},"body":{"a":"x"}}',
    });
    assert.equal(({} as { polluted?: number }).polluted, undefined);
  });

  it("reports the position of an error in code points", async (t) => {
    const response = await post(t, anything, '{"a":"😀😀",}');
    assert.deepEqual(JSON.parse(response.body).detail[0].loc, ["body", 10]);
  });

  for (const [service, subject, byte, problem] of [
    [router, "white space", 0x20, { loc: ["body", 2_000_000], error: "Expecting value" }],
    [router, "zero bytes (UTF-16)", 0, { loc: ["body", 0], error: "Expecting value" }],
    [contracts, "zero bytes", 0, "JSON parse error - Expecting value: line 1 column 1 (char 0)"],
    [contracts, "line breaks", 0x0a, "JSON parse error - Expecting value: line 2000001 column 1 (char 2000000)"],
  ] as const) {
    it(`is rejected by ${service.name} without parsing if it is 2 MB of ${subject}`, async (t) => {
      const body = Buffer.alloc(2_000_000, byte);
      const taking = await startTestServer(t, [
        createSingleOperationPart(createOperation(service, "POST", "/made", { body: raw() }), () => null),
      ]);
      const reading = await startTestServer(t, [
        createSingleOperationPart(createOperation(service, "POST", "/made", { body: json(anything) }), echo),
      ]);
      const post = ({ send }: typeof taking) => send("POST", "/made", { headers: jsonType, body });
      const { detail } = JSON.parse((await post(reading)).body);
      assert.deepEqual(service === router ? { loc: detail[0].loc, error: detail[0].ctx.error } : detail, problem);
      const times = await measureCostRatio(
        () => post(reading),
        () => post(taking),
        20,
      );
      assert.ok(times < 20, `to refuse it takes ${times} times as long as to receive it`);
    });
  }
});

describe("JSON value of a wrong type", () => {
  const schema = z.object({ n: z.int().optional(), f: z.number().optional(), b: z.boolean().optional() });
  const rows = z.object({ rows: z.array(z.object({ id: z.int() })) });

  // The conversions are those of pydantic 2.14, tested with FastAPI 0.165.
  for (const [sent, read] of [
    [{ n: "201" }, { n: 201 }],
    [{ n: " 2_0 " }, { n: 20 }],
    [{ n: "2.0" }, { n: 2 }],
    [{ n: true }, { n: 1 }],
    [{ f: " 1e3 " }, { f: 1000 }],
    [{ f: false }, { f: 0 }],
    [{ b: "yes" }, { b: true }],
    [{ b: 0 }, { b: false }],
  ] as const) {
    it(`is converted as in pydantic: ${JSON.stringify(sent)}`, async (t) => {
      for (const service of [router, contracts]) {
        const { send } = await startTestServer(t, [
          createSingleOperationPart(createOperation(service, "POST", "/made", { body: json(schema) }), echo),
        ]);
        const response = await send("POST", "/made", { headers: jsonType, body: JSON.stringify(sent) });
        assert.deepEqual([response.status, JSON.parse(response.body).body], [200, read], service.name);
      }
    });
  }

  it("is converted within rows and quoted unchanged in errors", async (t) => {
    const { send } = await startTestServer(t, [
      createSingleOperationPart(createOperation(contracts, "POST", "/made", { body: json(rows) }), echo),
    ]);
    const response = await send("POST", "/made", { headers: jsonType, body: '{"rows":[{"id":1},{"id":"2"}]}' });
    assert.deepEqual(JSON.parse(response.body).body, { rows: [{ id: 1 }, { id: 2 }] });
    const rejection = await send("POST", "/made", { headers: jsonType, body: '{"rows":[{"id":"2"},{"id":"1e3"}]}' });
    assert.deepEqual(JSON.parse(rejection.body), {
      rows: { 1: { id: ["Input should be a valid integer, unable to parse string as an integer"] } },
    });
  });

  it("is rejected by the control plane", async (t) => {
    const { send } = await startTestServer(t, [
      createSingleOperationPart(createOperation(emulator, "POST", "/_emulator/made", { body: json(schema) }), echo),
    ]);
    const response = await send("POST", "/_emulator/made", { headers: jsonType, body: '{"n":"201"}' });
    assert.equal(response.status, 400);
    assert.equal(
      JSON.parse(response.body).error.message,
      "n: Input should be a valid integer, unable to parse string as an integer",
    );
  });
});

describe("form body", () => {
  const schema = z.object({ a: z.string(), b: z.string().optional() });
  const startFormServer = (t: TestContext) =>
    startTestServer(t, [
      createSingleOperationPart(createOperation(router, "POST", "/made", { body: form(schema) }), echo),
    ]);

  it("uses the decoded last value of a repeated field", async (t) => {
    const { send } = await startFormServer(t);
    const response = await send("POST", "/made", { headers: formType, body: "a=1&a=x%2By+z%zz&b=&__proto__=1" });
    assert.deepEqual(JSON.parse(response.body).body, { a: "x+y z%zz" });
  });

  it("can be multipart, but only with a boundary", async (t) => {
    const { send } = await startFormServer(t);
    const body = '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\nhello\r\n--x--\r\n';
    const response = await send("POST", "/made", {
      headers: { "content-type": "multipart/form-data; boundary=x" },
      body,
    });
    assert.deepEqual(JSON.parse(response.body).body, { a: "hello" });
    const lost = await send("POST", "/made", { headers: { "content-type": "multipart/form-data" }, body });
    assert.deepEqual([lost.status, lost.body], [400, '{"detail":"Missing boundary in multipart."}']);
  });

  // Tested with python-multipart 0.0.34 and Starlette 1.10.
  it("is read as by python-multipart if it is multipart", async (t) => {
    const { send } = await startFormServer(t);
    const field = (value: string, end = "\r\n--x--\r\n") =>
      `--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n${value}${end}`;
    const sendBody = async (body: string | Buffer, boundary = "x") => {
      const headers = { "content-type": `multipart/form-data; boundary=${boundary}` };
      const response = await send("POST", "/made", { headers, body });
      const { detail, body: read } = JSON.parse(response.body);
      return [response.status, read?.a.length ?? detail[0].type ?? detail];
    };
    const large = "y".repeat(1_024 * 1_024);
    const invalid = [400, "Invalid multipart data."];
    const missing = [422, "missing"];
    assert.deepEqual(
      {
        large: await sendBody(field(large)),
        larger: await sendBody(field(`${large}y`)),
        "not ASCII": await sendBody(Buffer.from(field("\u00fc"), "latin1")),
        "a boundary of 256 characters": await sendBody(field("b").replaceAll("x", "x".repeat(256)), "x".repeat(256)),
        "a longer boundary": await sendBody(field("b").replaceAll("x", "x".repeat(257)), "x".repeat(257)),
        "another first line": await sendBody(field("b").replace("--x", "--xy")),
        "blanks after a boundary": await sendBody(field("b", "\r\n--x \t\r\n")),
        "text after a blank": await sendBody(field("b", "\r\n--x y\r\n")),
        "a line that ends with CR": await sendBody(field("b").replace("\r\n\r\n", "\r\r\n")),
        "8 headers": await sendBody(field("b").replace("\r\n\r\n", `\r\n${"x: y\r\n".repeat(7)}\r\n`)),
        "9 headers": await sendBody(field("b").replace("\r\n\r\n", `\r\n${"x: y\r\n".repeat(8)}\r\n`)),
        "a truncated first line": await sendBody("--x"),
        "a truncated part": await sendBody(field("b", "")),
      },
      {
        large: [200, large.length],
        larger: [400, "Part exceeded maximum size of 1024KB."],
        "not ASCII": [200, 1],
        "a boundary of 256 characters": [200, 1],
        "a longer boundary": invalid,
        "another first line": invalid,
        "blanks after a boundary": [200, 1],
        "text after a blank": invalid,
        "a line that ends with CR": invalid,
        "8 headers": [200, 1],
        "9 headers": invalid,
        "a truncated first line": missing,
        "a truncated part": missing,
      },
    );
  });

  it("rejects a file part instead of a string", async (t) => {
    const { send } = await startFormServer(t);
    const body = '--x\r\ncontent-disposition: form-data; name="a"; filename="a.txt"\r\n\r\nhello\r\n--x--\r\n';
    const response = await send("POST", "/made", {
      headers: { "content-type": "multipart/form-data; boundary=x" },
      body,
    });
    const problem = { type: "string_type", loc: ["body", "a"], msg: "Input should be a valid string" };
    // FastAPI's quote of a file contains Python internals.
    assert.deepEqual(JSON.parse(response.body).detail, [{ ...problem, input: { filename: "a.txt", size: 5 } }]);
  });

  it("is accepted instead of JSON unless bodies are strict", async (t) => {
    const operation = createOperation(router, "POST", "/made", { body: jsonOrForm(schema) });
    const lenient = await startTestServer(t, [createSingleOperationPart(operation, echo)]);
    const strict = await startTestServer(t, [createSingleOperationPart(operation, echo)], {
      settings: { strict: new Set(["bodies"]), lenientSlashes: false },
    });
    const response = await lenient.send("POST", "/made", { headers: formType, body: "a=1" });
    assert.deepEqual(JSON.parse(response.body).body, { a: "1" });
    const asJson = await lenient.send("POST", "/made", { headers: jsonType, body: '{"a":"1"}' });
    assert.deepEqual(JSON.parse(asJson.body).body, { a: "1" });
    const rejection = await strict.send("POST", "/made", { headers: formType, body: "a=1" });
    assert.deepEqual(JSON.parse(rejection.body).detail[0], {
      type: "model_attributes_type",
      loc: ["body"],
      msg: "Input should be a valid dictionary or object to extract fields from",
      input: "a=1",
    });
  });

  it("is accepted with strict bodies if the specification declares a form", async (t) => {
    const body = jsonOrForm(schema, { formIsStandard: true });
    const { send } = await startTestServer(
      t,
      [createSingleOperationPart(createOperation(router, "POST", "/made", { body }), echo)],
      { settings: { strict: new Set(["bodies"]), lenientSlashes: false } },
    );
    const response = await send("POST", "/made", { headers: formType, body: "a=1" });
    assert.deepEqual(JSON.parse(response.body).body, { a: "1" });
  });
});

describe("raw body", () => {
  it("arrives unchanged, whatever its content type", async (t) => {
    const bodies: Buffer[] = [];
    const operation = createOperation(router, "POST", "/made", { body: raw() });
    const { send } = await startTestServer(t, [
      createSingleOperationPart(operation, ({ body }: { body: Buffer }) => {
        bodies.push(body);
        return null;
      }),
    ]);
    const bytes = Buffer.from([0, 255, 13, 10, 123]);
    await send("POST", "/made", { headers: { "content-type": "not/a/type at all" }, body: bytes });
    await send("POST", "/made");
    assert.deepEqual(bodies, [bytes, Buffer.alloc(0)]);
  });

  it("is joined from its chunks", async (t) => {
    const operation = createOperation(router, "POST", "/made", { body: json(z.any()) });
    const { origin } = await startTestServer(t, [createSingleOperationPart(operation, echo)]);
    const response = await fetch(`${origin}/made`, {
      method: "POST",
      headers: jsonType,
      duplex: "half",
      body: new Blob(['{"a":', "1}"]).stream(),
    } as RequestInit);
    assert.deepEqual(await response.json(), { params: {}, query: {}, headers: {}, body: { a: 1 } });
  });

  it("streams to the handler while it arrives, without the body limit", async (t) => {
    const operation = createOperation(router, "PUT", "/made", { body: stream({ maxBytes: 1 }) });
    const { send } = await startTestServer(t, [
      createSingleOperationPart(operation, async ({ body }: { body: AsyncIterable<Buffer> }) => {
        let size = 0;
        for await (const chunk of body) size += chunk.length;
        return size;
      }),
    ]);
    const response = await send("PUT", "/made", { body: Buffer.alloc(70 * 1024 * 1024) });
    assert.equal(response.body, String(70 * 1024 * 1024));
  });

  it("is not read for a GET request", async (t) => {
    const operation = createOperation(router, "GET", "/made");
    const { send } = await startTestServer(t, [createSingleOperationPart(operation, echo)]);
    assert.equal((await send("GET", "/made", { headers: jsonType, body: "{" })).status, 200);
  });
});

describe("body over 64 MiB", () => {
  const tooLarge = Buffer.alloc(64 * 1024 * 1024 + 1, 0x20);
  const cases = [
    [router, '{"detail":"Request body is too large"}'],
    [contracts, '{"detail":"Request body is too large."}'],
    [emulator, '{"error":{"code":"body_too_large","message":"The body is larger than the limit of the emulator."}}'],
  ] as const;
  for (const [service, body] of cases) {
    it(`is rejected by ${service.name} in its error format`, async (t) => {
      const path = service === emulator ? "/_emulator/made" : "/made";
      const operation = createOperation(service, "POST", path, { body: json(z.any()) });
      const { origin } = await startTestServer(t, [createSingleOperationPart(operation, echo)]);
      const response = await fetch(origin + path, { method: "POST", headers: jsonType, body: tooLarge });
      assert.deepEqual([response.status, await response.text()], [413, body]);
      const chunked = await fetch(origin + path, {
        method: "POST",
        headers: jsonType,
        duplex: "half",
        body: new Blob([tooLarge]).stream(),
      } as RequestInit);
      assert.deepEqual([chunked.status, await chunked.text()], [413, body]);
    });
  }
});
