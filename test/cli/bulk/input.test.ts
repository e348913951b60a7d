import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { readTextLines } from "../../../src/cli/commands/router/bulk/input/source.ts";
import { startBulkService } from "../../support/cli/bulk-service.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { measureCostRatio } from "../../support/cost-ratio.ts";

const digest = "ab".repeat(32);

/** The batches sent for an input, and the exit code. */
async function sendInput(t: Parameters<typeof startBulkService>[0], argv: string, stdin: string | Uint8Array[]) {
  const { url, calls } = await startBulkService(t);
  const cwd = await createTestFolder(t);
  const input = typeof stdin === "string" ? stdin : streamPieces(stdin);
  const env = { SVC_CONFIG_DIR: cwd, SVC_BASE_URL: url };
  const { exit, stderr } = await runCli(`router ${argv} --cluster eu-1`, { env, cwd, stdin: input });
  const lists = calls.map(({ body: { cluster_id: _, integration_type: __, ...lists } }) => Object.values(lists)[0]);
  return { exit, stderr, lists };
}

async function* streamPieces(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}

describe("input rows", () => {
  for (const [label, argv, stdin, lists] of [
    ["lines of any system, with a byte order mark", "map-clients -", "\ufeffa\r\nb\n\n  \nc", [["a", "b", "c"]]],
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
    [
      "a CSV table in which another program appended rows with other line ends",
      "map-clients - --column id",
      'id,n\r\na,1\r\nb,2\nc,"3\n4"\nd,5\re,6\r\n',
      [["a", "b", "c", "d", "e"]],
    ],
    [
      "a TSV table with several line ends",
      "map-clients - --input-format tsv --column id",
      "id\tn\ra\t1\r\nb\t2\rc\t3\n",
      [["a", "b", "c"]],
    ],
    ["plain strings of NDJSON", "map-clients - --input-format ndjson", '"a"\n"b"\n', [["a", "b"]]],
    ["the only field of NDJSON", "map-clients - --input-format ndjson", '{"id":7}\n', [["7"]]],
    ["digests in upper case, which are sent in lower", "map-emails -", `${digest.toUpperCase()}\n`, [[digest]]],
  ] as const) {
    it(`accepts ${label}`, async (t) => {
      const { exit, lists: receivedLists } = await sendInput(t, argv, stdin);
      assert.deepEqual({ exit, got: receivedLists }, { exit: 0, got: lists });
    });
  }

  it("reads complete rows from input that is split at any byte, also within gzip", async (t) => {
    const text = Buffer.from("zoë\n名前\nlast");
    const bytes = (data: Buffer) => [...data].map((byte) => Uint8Array.of(byte));
    for (const data of [text, gzipSync(text)]) {
      const { lists } = await sendInput(t, "map-clients -", bytes(data));
      assert.deepEqual(lists, [["zoë", "名前", "last"]]);
    }
  });

  it("reads a long line in a time proportional to its length, as in a table whose lines end with CR", async () => {
    const read = (lineEnd: string) => async () => {
      const pieces = Array<Buffer>(3_000).fill(Buffer.from(`a,${"x".repeat(1_000)}${lineEnd}`));
      for await (const _ of readTextLines(streamPieces(pieces)));
    };
    const times = await measureCostRatio(read("\r"), read("\n"), 4);
    assert.ok(times < 4, `${times} times as long`);
  });

  it("numbers rows like the lines in an editor, including the heading and empty lines", async (t) => {
    const stdin = 'id,note\n\na,"two\nlines"\nb c,\n';
    const { exit, stderr } = await sendInput(t, "map-clients - --column id", stdin);
    assert.equal(exit, 2);
    assert.match(stderr, /Row 5 \(b c\) is not a valid client ID: it contains spaces/);
  });

  for (const [name, argv, text] of [
    ["client ids", "map-clients - --input-format csv", "client_id"],
    ["client ids in camel case", "map-clients - --input-format csv", "externalClientId"],
    ["client ids, by number", "map-clients - --input-format csv --column 1", "Client ID"],
    ["client ids, of plain lines", "map-clients -", "client_id"],
  ] as const) {
    it(`rejects a heading without the selected column: ${name}`, async (t) => {
      const { exit, stderr, lists } = await sendInput(t, argv, `${text}\nc-1\n`);
      assert.deepEqual([exit, lists], [2, []]);
      const advice = `the heading of its column. Select the column with --column "${text}"`;
      assert.ok(stderr.includes(`Row 1 (${text}) is ${advice}`), stderr);
      assert.ok(!stderr.includes("Is that the heading"), stderr);
      assert.ok(!stderr.includes("--skip-invalid"), stderr);
    });
  }

  it("suggests another column if the selected column has no valid value", async (t) => {
    const { url } = await startBulkService(t);
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "people.csv"), "id,email\n1,ada@example.com\n");
    const options = { cwd, env: { SVC_CONFIG_DIR: cwd, SVC_BASE_URL: url } };
    const { exit, stderr } = await runCli("router map-emails people.csv --column id --cluster eu-1", options);
    assert.equal(exit, 2);
    assert.match(stderr, /\n {2}No row is valid\. Select another column with --column NAME\.\n/);
    assert.ok(!stderr.includes("--skip-invalid"), stderr);
    const line = "router offboard eu-1 --from people.csv --input-format lines --confirm eu-1";
    assert.match((await runCli(line, options)).stderr, /\n {2}See svc router offboard --help\.\n/);
  });

  it("reports a first row that may be a heading", async (t) => {
    const { url } = await startBulkService(t);
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "people.csv"), "Contact\nada@example.com\n");
    const { exit, stderr } = await runCli("router map-emails people.csv --cluster eu-1", {
      cwd,
      env: { SVC_CONFIG_DIR: cwd, SVC_BASE_URL: url },
    });
    assert.equal(exit, 2);
    assert.match(
      stderr,
      /row 1 \(Contact\) is neither an e-mail address .*\n {2}If that is the heading, select a column with --column NAME/,
    );
  });

  it("rejects rows without JSON or without the field as invalid", async (t) => {
    const stdin = '{"id":"a"}\nnot json\n{"x":1}\n[]\n{"id":"b"}\n';
    const argv = "map-clients - --input-format ndjson --column id";
    const rejected = await sendInput(t, argv, stdin);
    assert.deepEqual([rejected.exit, rejected.lists], [2, []]);
    assert.match(rejected.stderr, /Row 2 \(not json\) is not JSON/);
    const skipped = await sendInput(t, `${argv} --skip-invalid`, stdin);
    assert.deepEqual([skipped.exit, skipped.lists], [3, [["a", "b"]]]);
  });

  for (const [label, stdin, row] of [
    ["an empty cell", "name,id\nx,a\ny,\nz,b\n", "3 (y,)"],
    ["a quoted empty cell", 'name,id\nx,a\ny,""\nz,b\n', '3 (y,"")'],
    ["a blank cell", "name,id\nx,a\ny,  \nz,b\n", "3 (y,)"],
    ["a missing cell", "name,id\nx,a\ny\nz,b\n", "3 (y)"],
    ["only empty cells", "name,id\nx,a\n,\nz,b\n", "3 (,)"],
    ["a single quoted empty cell", 'id\na\n""\nb\n', '3 ("")'],
  ] as const) {
    it(`rejects CSV rows with ${label} in the column and skips blank lines`, async (t) => {
      const argv = "map-clients - --column id --quiet";
      const rejected = await sendInput(t, argv, `${stdin}\n \n`);
      assert.deepEqual([rejected.exit, rejected.lists], [2, []]);
      assert.equal(rejected.stderr.split("\n")[0], `error: Row ${row} is without a string in the column "id".`);
      const skipped = await sendInput(t, `${argv} --skip-invalid`, `${stdin}\n \n`);
      assert.deepEqual([skipped.exit, skipped.lists], [3, [["a", "b"]]], skipped.stderr);
    });
  }

  it("counts CSV rows without an identifier in their batch and share, like other invalid rows", async (t) => {
    const rows = 'id,x\na,1\n"",2\nb,3\nc,4\n';
    const run = "map-clients - --input-format csv --column id --skip-invalid --batch-size 2 --concurrency 1";
    const result = await sendInput(t, run, rows);
    assert.deepEqual([result.exit, result.lists], [3, [["a"], ["b", "c"]]]);
    const [first, second] = [
      await sendInput(t, `${run} --shard 1/2`, rows),
      await sendInput(t, `${run} --shard 2/2`, rows),
    ];
    assert.deepEqual([first.exit, first.lists], [0, [["a", "b"]]]);
    assert.deepEqual([second.exit, second.lists], [3, [["c"]]]);
  });

  it("counts CSV rows without an identifier and lists them with their other cells", async (t) => {
    const { url } = await startBulkService(t);
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "people.csv"), "name,email\nx,a@x.example\ny,\nz,b@x.example\n");
    const run = "router map-emails people.csv --column email --cluster eu-1 --skip-invalid --errors-out bad.csv --json";
    const { exit, stdout } = await runCli(run, { cwd, env: { SVC_CONFIG_DIR: cwd, SVC_BASE_URL: url } });
    const { rows, invalid, first_invalid_row } = JSON.parse(stdout);
    assert.deepEqual(
      { exit, rows, invalid, first_invalid_row },
      { exit: 3, rows: 2, invalid: 1, first_invalid_row: 3 },
    );
    assert.equal(
      await readFile(join(cwd, "bad.csv"), "utf8"),
      'row,input,status,code,message,moved_from\r\n3,"y,",invalid,invalid_identifier,"without a string in the column ""email""",\r\n',
    );
  });

  for (const [label, stdin] of [
    ["an empty string", '"a"\n""\n"b"\n'],
    ["an object with an empty member", '{"id":"a"}\n{"id":""}\n{"id":"b"}\n'],
    ["an object without the member", '{"id":"a"}\n{"x":"y"}\n{"id":"b"}\n'],
    ["an empty object", '{"id":"a"}\n{}\n{"id":"b"}\n'],
  ] as const) {
    it(`rejects NDJSON rows that are ${label}`, async (t) => {
      const argv = "map-clients - --input-format ndjson --skip-invalid --column id";
      const { exit, lists, stderr } = await sendInput(t, argv, stdin);
      assert.deepEqual([exit, lists], [3, [["a", "b"]]], stderr);
    });
  }

  for (const [label, rest, problem] of [
    ["that is not closed", '"b,1\nc,2\nd,3\n', "a quote opened at or after line 4 is not closed"],
    ["that is closed lines below", '"b,1\nc,2\nd,"3\n', / in the row that begins at line 4$/],
  ] as const) {
    it(`reports the position of a quote ${label}`, async (t) => {
      const { exit, stderr, lists } = await sendInput(t, "map-clients - --column id --quiet", `id,x\n\na,1\n${rest}`);
      assert.deepEqual([exit, lists], [2, []]);
      const [first = ""] = stderr.split("\n");
      if (typeof problem === "string") assert.equal(first, `error: Invalid CSV: ${problem}`);
      else assert.match(first, problem);
    });
  }

  it("stops at a quote that collects more than 16 MiB of the rows below it", async (t) => {
    const rows = "c,2\n".repeat(4 * 1_024 * 1_024);
    const { exit, stderr, lists } = await sendInput(t, "map-clients - --column id", `id,x\na,1\n"b,1\n${rows}d,"\n`);
    assert.deepEqual([exit, lists], [2, []]);
    assert.match(
      stderr,
      /Invalid CSV: the row that begins at line 3 is longer than 16 MiB, as if a quote were not closed\n/,
    );
  });

  it("rejects a folder, a missing file and a terminal", async (t) => {
    const { url } = await startBulkService(t);
    const cwd = await createTestFolder(t);
    await mkdir(join(cwd, "folder"));
    await writeFile(join(cwd, "empty.txt"), "");
    const env = { SVC_CONFIG_DIR: cwd, SVC_BASE_URL: url };
    for (const [file, message] of [
      ["folder", /folder is a folder, not a file/],
      ["gone.txt", /cannot read gone.txt: no such file/],
      ["empty.txt", /empty.txt has no rows/],
    ] as const) {
      const { exit, stderr } = await runCli(`router map-clients ${file} --cluster eu-1`, { env, cwd });
      assert.match(stderr, message);
      assert.equal(exit, 2);
    }
    const { exit, stderr } = await runCli("router map-clients - --cluster eu-1", { env, cwd, tty: true });
    assert.match(stderr, /standard input is a terminal/);
    assert.equal(exit, 2);
  });
});
