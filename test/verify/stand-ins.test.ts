import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { PDFDocument } from "@cantoo/pdf-lib";
import { scanCorpus } from "../../src/verify/scan.ts";
import { createExchange, createRequest, recordAll } from "../support/verify/recorded-corpus.ts";

describe("stand-in for a token", () => {
  const formats: Readonly<Record<string, readonly [token: string, standIn: RegExp]>> = {
    "a UUID": [
      "1f0c9f3e-77aa-4d4e-9f3e-3c4d4d4e9f3e",
      /^5afe[0-9a-f]{4}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/,
    ],
    "16 hexadecimal digits": ["9f2c1a7b3d5e8f60", /^5afe5afe[0-9a-f]{8}$/],
    "40 hexadecimal digits": ["9f2c1a7b3d5e8f60123456789abcdef012345678", /^5afe5afe[0-9a-f]{32}$/],
    "15 hexadecimal digits": ["9f2c1a7b3d5e8f6", /^safe\w{11}$/],
    "letters and digits": ["X9kQ2vR7tB4mW8yZ1pL5", /^safe\w{16}$/],
    "base64 with padding": ["c2VjcmV0LXNlY3JldA==", /^safe\w{13}A==$/],
    "a short word": ["hunter2", /^safe\w{8}$/],
  };
  for (const [name, [token, standIn]] of Object.entries(formats)) {
    it(`has the format of the token: ${name}`, async (t) => {
      const { exchanges } = await recordAll(t, [createRequest("application/json", JSON.stringify({ api_key: token }))]);
      assert.match(JSON.parse(exchanges[0]!.request.body.toString()).api_key, standIn);
    });
  }
});

it("JSON in base64 keeps its structure, also without blanks", async (t) => {
  const contents = [undefined, 1].map((indent) => JSON.stringify({ email: "jo@acme.com", count: 3 }, null, indent));
  const notes = contents.map((text) => Buffer.from(text).toString("base64"));
  const { exchanges } = await recordAll(t, [createRequest("application/json", JSON.stringify({ notes }))]);
  const recorded: { notes: string[] } = JSON.parse(exchanges[0]!.request.body.toString());
  const [compact, indented] = recorded.notes.map((text) => JSON.parse(Buffer.from(text, "base64").toString()));
  assert.match(compact.email, /^qx[a-x]{9}@qx[a-x]{7}\.example$/);
  assert.deepEqual([compact, indented], [{ email: compact.email, count: 3 }, compact]);
});

describe("file in a corpus", () => {
  const document = "%PDF-1.4 Jeffrey Lebowski, 1 Venice Beach";
  const officeType = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
  for (const [name, type, bytes] of [
    ["a PDF", "application/pdf", Buffer.from(document)],
    ["a PDF of another type", "text/plain", Buffer.from(document)],
    ["a table", "text/csv", Buffer.from("name,street\nJeffrey Lebowski,1 Venice Beach\n")],
    ["an office document", officeType, Buffer.from("Jeffrey Lebowski")],
    ["bytes", "application/octet-stream", Buffer.from("Jeffrey Lebowski")],
    ["bytes that are no text", "text/plain", Buffer.from("Jeffrey Lebowski \xff", "latin1")],
  ] as const) {
    it(`is replaced by the same small file in requests and responses: ${name}`, async (t) => {
      const headers = [["content-type", type]] as const;
      const corpus = await recordAll(t, [createExchange({ headers, body: bytes }, { headers, body: bytes })]);
      const { request, response } = corpus.exchanges[0]!;
      assert.deepEqual(response.body, request.body);
      assert.deepEqual(scanCorpus(corpus), []);
      const text = request.body.toString("latin1");
      if (bytes.includes("%PDF")) assert.equal((await PDFDocument.load(request.body)).getPageCount(), 1);
      else assert.match(text, /^5afe5afe[0-9a-f]{16}\n$/);
      assert.ok(!/Lebowski|Venice/.test(text), text);
    });
  }
});

describe("encoded body in a corpus", () => {
  const plain = Buffer.from(JSON.stringify({ email: "gzip.person@acme.com", count: 3 }));
  for (const [encoding, body] of [
    ["gzip", gzipSync(plain)],
    ["deflate", deflateSync(plain)],
    ["br", brotliCompressSync(plain)],
  ] as const) {
    it(`is stored decoded, without its secrets: ${encoding}`, async (t) => {
      const headers = [
        ["content-type", "application/json"],
        ["content-encoding", encoding],
      ] as const;
      const corpus = await recordAll(t, [createExchange({}, { headers, body })]);
      const { email, ...otherFields } = JSON.parse(corpus.exchanges[0]!.response.body.toString());
      assert.match(email, /^qx[a-x]{9}@qx[a-x]{7}\.example$/);
      assert.deepEqual([otherFields, scanCorpus(corpus)], [{ count: 3 }, []]);
    });
  }

  it("is replaced by a small file if it cannot be decoded", async (t) => {
    const headers = [["content-encoding", "gzip"]] as const;
    const corpus = await recordAll(t, [
      createExchange({}, { headers, body: Buffer.from("\x1f\x8bLebowski", "latin1") }),
    ]);
    assert.match(corpus.exchanges[0]!.response.body.toString(), /^5afe5afe[0-9a-f]{16}\n$/);
  });
});
