import assert from "node:assert/strict";
import { appendFile, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { readCorpus } from "../../src/verify/corpus.ts";
import { ExchangeRecorder } from "../../src/verify/recorder.ts";
import { scanCorpus } from "../../src/verify/scan.ts";
import { createTestFolder } from "../support/cli/cli-emulator.ts";

const request = { method: "GET", target: "/api/v2.1/public/templates/", headers: [], body: Buffer.alloc(0) };
const response = {
  status: 200,
  headers: [["content-type", "application/json"]] as const,
  body: Buffer.from('{"items":[]}'),
};

async function createCorpus(t: TestContext, count = 2): Promise<string> {
  const folder = join(await createTestFolder(t), "corpus");
  const recorder = await ExchangeRecorder.open(folder);
  for (let at = 0; at < count; at += 1) await recorder.add({ at: at * 1_000, request, response });
  await recorder.close();
  return folder;
}

const first = "00001-templates.list.exchange.json";

describe("recorded corpus", () => {
  it("contains a readable file for each exchange", async (t) => {
    const folder = await createCorpus(t, 1);
    assert.deepEqual((await readdir(folder)).sort(), [first, "index.ndjson"]);
    assert.equal(
      await readFile(join(folder, first), "utf8"),
      `{
  "svc-exchange": 1,
  "callee": "contracts",
  "operation": "templates.list",
  "at": "1970-01-01T00:00:00.000Z",
  "request": {
    "method": "GET",
    "target": "/api/v2.1/public/templates/",
    "headers": []
  },
  "response": {
    "status": 200,
    "headers": [
      "content-type: application/json"
    ],
    "json": {
      "items": []
    }
  }
}
`,
    );
  });

  it("contains the recorded exchanges in chronological order", async (t) => {
    const { exchanges } = await readCorpus(await createCorpus(t));
    assert.deepEqual(
      exchanges.map(({ file, at, operation }) => ({ file, at, operation })),
      [
        { file: first, at: 0, operation: "templates.list" },
        { file: "00002-templates.list.exchange.json", at: 1_000, operation: "templates.list" },
      ],
    );
    assert.deepEqual(exchanges[0]!.response, response);
  });

  it("contains each body unchanged", async (t) => {
    const folder = join(await createTestFolder(t), "corpus");
    const recorder = await ExchangeRecorder.open(folder);
    const bodies = [
      '{"id":1,"a":[1.5,null]}',
      '{ "id": 1 }',
      '{"b":1.0,"1":2}',
      "1\r\n2\t",
      "",
      "a\u0000",
      "[".repeat(9_999),
    ];
    for (const [at, body] of bodies.entries())
      await recorder.add({ at, request, response: { ...response, headers: [], body: Buffer.from(body) } });
    await recorder.close();
    const { exchanges } = await readCorpus(folder);
    assert.deepEqual(
      exchanges.map((exchange) => exchange.response.body.toString()),
      bodies,
    );
  });

  const damages: Readonly<Record<string, readonly [damage: (folder: string) => Promise<unknown>, message: RegExp]>> = {
    "is missing a file": [
      (folder) => rm(join(folder, first)),
      /is incomplete: 00001-templates\.list\.exchange\.json is missing$/,
    ],
    "has a truncated index": [
      async (folder) => {
        const lines = (await readFile(join(folder, "index.ndjson"), "utf8")).split("\n");
        await writeFile(join(folder, "index.ndjson"), `${[lines[0], lines[1], '{"end":1}'].join("\n")}\n`);
      },
      /truncated or edited: it does not list 00002-templates\.list\.exchange\.json$/,
    ],
    "contains a copied file with another name": [
      (folder) => writeFile(join(folder, "notes.exchange.json"), "GET / HTTP/1.1\nauthorization: Bearer s3cret\n"),
      /truncated or edited: it does not list notes\.exchange\.json$/,
    ],
    "is incomplete": [
      async (folder) => {
        const text = await readFile(join(folder, "index.ndjson"), "utf8");
        await writeFile(join(folder, "index.ndjson"), text.replace(/\{"end".*\n/, ""));
      },
      /has no end: its recording was interrupted, or its index was truncated\. To finish a recording, repeat its svc verify record$/,
    ],
    "is edited": [
      (folder) => appendFile(join(folder, first), "x"),
      /00001-templates\.list\.exchange\.json of .* was edited: it differs from the index$/,
    ],
    "is of another version": [
      async (folder) => {
        const text = await readFile(join(folder, "index.ndjson"), "utf8");
        await writeFile(join(folder, "index.ndjson"), text.replace('"version":1', '"version":2'));
      },
      /is a corpus of version 2, and this svc reads version 1$/,
    ],
    "contains a symbolic link": [
      async (folder) => {
        await rm(join(folder, first));
        await symlink("/etc/hostname", join(folder, first));
      },
      /00001-templates\.list\.exchange\.json of .* is not a regular file$/,
    ],
    "names a file in another folder": [
      (folder) =>
        writeFile(
          join(folder, "index.ndjson"),
          '{"format":"svc-corpus","version":1}\n{"file":"../../etc/passwd","sha256":"0"}\n{"end":1}\n',
        ),
      /was edited: line 2 names no exchange$/,
    ],
    "is not a corpus": [
      (folder) => writeFile(join(folder, "index.ndjson"), "[]\n"),
      /is not a corpus: index\.ndjson has no valid first line$/,
    ],
  };
  for (const [name, [damage, message]] of Object.entries(damages)) {
    it(`is rejected with a message if it ${name}`, async (t) => {
      const folder = await createCorpus(t);
      await damage(folder);
      await assert.rejects(readCorpus(folder), { name: "CorpusError", message });
    });
  }

  it("is rejected with a message if it has hostile content", async (t) => {
    const folder = await createCorpus(t, 1);
    const { createHash } = await import("node:crypto");
    const hostile = async (text: string) => {
      await rm(folder, { recursive: true });
      await mkdir(folder);
      await writeFile(join(folder, first), text);
      const sha256 = createHash("sha256").update(text).digest("hex");
      const index = [{ format: "svc-corpus", version: 1 }, { file: first, sha256 }, { end: 1 }];
      await writeFile(join(folder, "index.ndjson"), `${index.map((line) => JSON.stringify(line)).join("\n")}\n`);
      return readCorpus(folder).then(
        () => "read",
        (error: Error) => error.message.replace(/^.* cannot be read: /, ""),
      );
    };
    const valid = {
      "svc-exchange": 1,
      callee: "contracts",
      at: "2030-01-01T00:00:00Z",
      request: { method: "GET", target: "/", headers: [] as string[] },
      response: { status: 200, headers: [], text: "" },
    };
    const { request: sent, response: received } = valid;
    const malformed = [
      ["", "it must be an object"],
      ["GET / HTTP/1.1\n\n", "it must be an object"],
      [{ ...valid, callee: "toString" }, "callee must be one of router, contracts, storage, receiver"],
      [
        { ...valid, request: { ...sent, method: "CONNECT" } },
        "request.method must be an HTTP method other than CONNECT",
      ],
      [{ ...valid, request: { ...sent, target: "http://other.example/" } }, "request.target must be a path"],
      ...["x: y\rz: 1", "x: \u4f60", "x y: 1", ": 1"].map(
        (header) =>
          [
            { ...valid, request: { ...sent, headers: [header] } },
            "request.headers.0 must be a header (name: value)",
          ] as const,
      ),
      [{ ...valid, response: { ...received, status: 999 } }, "response.status must be at most 599"],
      [{ ...valid, at: "9999-01-01T00:00:00Z" }, "at must be a time (2030-01-02T03:04:05Z)"],
      [{ ...valid, "svc-exchange": 9 }, "svc-exchange must be 1, the version that this svc reads"],
    ] as const;
    const deep = `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`;
    assert.equal(await hostile(JSON.stringify({ ...valid, response: { ...received, text: deep } })), "read");
    assert.deepEqual(scanCorpus(await readCorpus(folder)), []);
    for (const [value, message] of malformed)
      assert.equal(await hostile(typeof value === "string" ? value : JSON.stringify(value)), message);
  });
});
