import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { bulkService } from "../../support/cli/bulk-service.ts";
import { testFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";

const digest = "ab".repeat(32);

/** What is sent for an input, and the exit code. */
async function sent(t: Parameters<typeof bulkService>[0], argv: string, stdin: string | Uint8Array[]) {
  const { url, calls } = await bulkService(t);
  const cwd = await testFolder(t);
  const input = typeof stdin === "string" ? stdin : pieces(stdin);
  const env = { SVC_CONFIG_DIR: cwd, SVC_BASE_URL: url };
  const { exit, err } = await runCli(`router ${argv} --cluster eu-1`, { env, cwd, stdin: input });
  const lists = calls.map(({ body: { cluster_id: _, integration_type: __, ...lists } }) => Object.values(lists)[0]);
  return { exit, err, lists };
}

async function* pieces(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}

describe("the rows of an input", () => {
  for (const [what, argv, stdin, lists] of [
    ["lines of any system, with a byte order mark", "map-clients -", "\ufeffa\r\nb\n\n  c  ", [["a", "b", "c"]]],
    [
      "batches of the size asked for",
      "map-clients - --batch-size 2 --concurrency 1",
      "a\nb\n\nc\n",
      [["a", "b"], ["c"]],
    ],
    ["a CSV field over two lines", "map-clients - --input-format csv --column 2", '"x\ny",a\nz,b\n', [["a", "b"]]],
    [
      "a CSV column behind a byte order mark",
      "map-clients - --input-format csv --column id",
      "\ufeffid,x\na,1\n",
      [["a"]],
    ],
    ["plain strings of NDJSON", "map-clients - --input-format ndjson", '"a"\n"b"\n', [["a", "b"]]],
    ["the first field of NDJSON", "map-clients - --input-format ndjson", '{"id":7,"x":"y"}\n', [["7"]]],
    ["digests in upper case, which are sent in lower", "map-emails -", `${digest.toUpperCase()}\n`, [[digest]]],
  ] as const) {
    it(`may be ${what}`, async (t) => {
      const { exit, lists: got } = await sent(t, argv, stdin);
      assert.deepEqual({ exit, got }, { exit: 0, got: lists });
    });
  }

  it("are whole wherever the input is cut into pieces, also within a character and within gzip", async (t) => {
    const text = Buffer.from("zoë\n名前\nlast");
    const bytes = (data: Buffer) => [...data].map((byte) => Uint8Array.of(byte));
    for (const data of [text, gzipSync(text)]) {
      const { lists } = await sent(t, "map-clients -", bytes(data));
      assert.deepEqual(lists, [["zoë", "名前", "last"]]);
    }
  });

  it("are numbered as an editor numbers lines, the heading and empty lines too", async (t) => {
    const stdin = 'id,note\n\na,"two\nlines"\nb c,\n';
    const { exit, err } = await sent(t, "map-clients - --column id", stdin);
    assert.equal(exit, 2);
    assert.match(err, /Row 5 \(b c\) is no client id: it contains spaces/);
  });

  for (const [name, argv, text] of [
    ["addresses", "map-emails", "email"],
    ["client ids", "map-clients", "client_id"],
    ["client ids, by number", "map-clients --column 1", "Client ID"],
  ] as const) {
    it(`do not begin with a heading where no column is named: ${name}`, async (t) => {
      const { exit, err, lists } = await sent(t, `${argv} - --input-format csv`, `${text},x\nada@example.com,1\n`);
      assert.deepEqual([exit, lists], [2, []]);
      assert.ok(err.includes(`Row 1 (${text}) is the heading of its column: name it, with --column "${text}"`), err);
      assert.ok(!err.includes("Is that the heading"), err);
    });
  }

  it("of a file whose first row may be a heading is told so", async (t) => {
    const { url } = await bulkService(t);
    const cwd = await testFolder(t);
    await writeFile(join(cwd, "people.csv"), "Contact,Name\nada@example.com,Ada\n");
    const { exit, err } = await runCli("router map-emails people.csv --cluster eu-1", {
      cwd,
      env: { SVC_CONFIG_DIR: cwd, SVC_BASE_URL: url },
    });
    assert.equal(exit, 2);
    assert.match(err, /row 1 \(Contact\) is neither an e-mail address .*\n {2}Is that the heading\? .*--column NAME/);
  });

  it("that are no JSON, or lack the field, are invalid rows like any other", async (t) => {
    const stdin = '{"id":"a"}\nnot json\n{"x":1}\n[]\n{"id":"b"}\n';
    const argv = "map-clients - --input-format ndjson --column id";
    const refused = await sent(t, argv, stdin);
    assert.deepEqual([refused.exit, refused.lists], [2, []]);
    assert.match(refused.err, /Row 2 \(not json\) is not JSON/);
    const skipped = await sent(t, `${argv} --skip-invalid`, stdin);
    assert.deepEqual([skipped.exit, skipped.lists], [3, [["a", "b"]]]);
  });

  it("cannot be a folder, a file that is not there, or a terminal", async (t) => {
    const { url } = await bulkService(t);
    const cwd = await testFolder(t);
    await mkdir(join(cwd, "folder"));
    await writeFile(join(cwd, "empty.txt"), "");
    const env = { SVC_CONFIG_DIR: cwd, SVC_BASE_URL: url };
    for (const [file, message] of [
      ["folder", /folder is a folder, not a file/],
      ["gone.txt", /cannot read gone.txt: there is no such file/],
      ["empty.txt", /empty.txt holds no rows/],
    ] as const) {
      const { exit, err } = await runCli(`router map-clients ${file} --cluster eu-1`, { env, cwd });
      assert.match(err, message);
      assert.equal(exit, 2);
    }
    const { exit, err } = await runCli("router map-clients - --cluster eu-1", { env, cwd, tty: true });
    assert.match(err, /standard input is a terminal/);
    assert.equal(exit, 2);
  });
});
