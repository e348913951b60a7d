import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { describe, it } from "node:test";
import { createOutput, type TableView } from "../../src/cli/output/output.ts";
import { stripStyles } from "../../src/cli/output/styled.ts";
import { fitTable, formatCsvLine, formatTsvLine } from "../../src/cli/output/table.ts";
import { readGlobals } from "../../src/cli/parse/globals.ts";
import type { Host } from "../../src/cli/process/host.ts";
import { startCliEmulator } from "../support/cli/cli-emulator.ts";

async function showValue(value: unknown, flags: Record<string, unknown>, view: TableView = {}, tty = false, env = {}) {
  const [stdout, stderr] = [createSink(tty), createSink(tty)];
  const host = { env, stdout: stdout.stream, stderr: stderr.stream } as unknown as Host;
  await createOutput(host, readGlobals(flags)).show(value, view);
  return { stdout: stdout.text(), stderr: stderr.text() };
}

function createSink(isTTY: boolean) {
  let text = "";
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  return { stream: Object.assign(stream, { isTTY }), text: () => text };
}

const rows = [
  { id: "T-1", name: "A\tB", owner: { email: "jo@acme.example" }, note: null },
  { id: "T-22", name: 'say "hi", ok', owner: null, note: "x" },
];
const view = { columns: ["id", "name"], fields: ["id", "name", "owner", "note"] };

describe("response layout", () => {
  it("is tab-separated in a pipe and a table with headings on a terminal", async () => {
    assert.equal((await showValue(rows, {}, view)).stdout, 'T-1\tA\\tB\nT-22\tsay "hi", ok\n');
    assert.equal(
      (await showValue(rows, { color: false }, view, true)).stdout,
      'ID    NAME\nT-1   A\\tB\nT-22  say "hi", ok\n',
    );
  });

  it("is a table in a pipe on request", async () => {
    assert.equal(
      (await showValue(rows, { format: "table" }, view)).stdout,
      'ID    NAME\nT-1   A\\tB\nT-22  say "hi", ok\n',
    );
    assert.equal((await showValue({ id: "T-1", name: "x" }, { format: "table" }, view)).stdout, "id    T-1\nname  x\n");
  });

  it("prints the whole document with --json and the selected fields with --json=…", async () => {
    assert.deepEqual(JSON.parse((await showValue(rows, { json: true }, view)).stdout), rows);
    assert.deepEqual(JSON.parse((await showValue(rows, { json: true, fields: "id,owner.email" }, view)).stdout), [
      { id: "T-1", "owner.email": "jo@acme.example" },
      { id: "T-22", "owner.email": null },
    ]);
  });

  it("finds nested rows and prints the whole document with bare --json", async () => {
    const page = { items: rows, total: 2 };
    assert.deepEqual(JSON.parse((await showValue(page, { json: true }, { ...view, rows: "items" })).stdout), page);
    assert.deepEqual(
      JSON.parse((await showValue(page, { json: true, fields: "id" }, { ...view, rows: "items" })).stdout),
      [{ id: "T-1" }, { id: "T-22" }],
    );
  });

  it("includes headings in csv and tsv and prints one document per line in ndjson", async () => {
    assert.equal(
      (await showValue(rows, { format: "csv" }, view)).stdout,
      'id,name\r\nT-1,A\tB\r\nT-22,"say ""hi"", ok"\r\n',
    );
    assert.equal(
      (await showValue(rows, { format: "tsv", fields: "id,note" }, view)).stdout,
      "id\tnote\nT-1\t\nT-22\tx\n",
    );
    assert.equal(
      (await showValue(rows, { format: "ndjson", fields: "id" }, view)).stdout,
      '{"id":"T-1"}\n{"id":"T-22"}\n',
    );
  });

  it("preserves csv cells that begin like formulas unless --csv-safe escapes them", async () => {
    const formulas = ["=1+1", "+1", "-1", "@a", "\tx", "\rx", "a=1", "'x", ""].map((cell) => ({ cell }));
    const formatFormulas = async (flags: object) =>
      (await showValue(formulas, { format: "csv", ...flags }, {})).stdout.split("\r\n");
    assert.deepEqual(await formatFormulas({}), ["cell", "=1+1", "+1", "-1", "@a", "\tx", '"\rx"', "a=1", "'x", "", ""]);
    assert.deepEqual(await formatFormulas({ "csv-safe": true }), [
      "cell",
      ...["'=1+1", "'+1", "'-1", "'@a", "'\tx", `"'\rx"`, "a=1", "'x", "", ""],
    ]);
  });

  it("prints one name and value per line for an object", async () => {
    const row = { id: 7, tags: ["a"], gone: null };
    assert.equal((await showValue(row, {})).stdout, 'id\t7\ntags\t["a"]\ngone\t\n');
    assert.equal((await showValue(row, { color: false }, {}, true)).stdout, 'id    7\ntags  ["a"]\ngone  \n');
  });

  it("prints [] for programs and a message on standard error for users without rows", async () => {
    assert.deepEqual(await showValue([], { json: true }, view), { stdout: "[]\n", stderr: "" });
    assert.deepEqual(await showValue([], {}, { ...view, emptyMessage: "No contracts" }), {
      stdout: "",
      stderr: "No contracts\n",
    });
  });

  it("escapes values that would move the cursor of a terminal", async () => {
    const { stdout } = await showValue([{ id: "\x1b[2Jx\r" }], { color: false }, { columns: ["id"] }, true);
    assert.equal(stdout, "ID\n\\x1b[2Jx\\r\n");
  });

  it("is colored only if colors are enabled", async () => {
    const coloured = async (flags: object, env: object, tty: boolean) =>
      (await showValue(rows, { ...flags }, view, tty, env)).stdout.includes("\x1b[");
    const cases: [object, object, boolean][] = [
      [{}, {}, true],
      [{}, { NO_COLOR: "" }, true],
      [{}, { NO_COLOR: "1" }, false],
      [{}, { SVC_NO_COLOR: "1", FORCE_COLOR: "1" }, false],
      [{}, { NO_COLOR: "1", FORCE_COLOR: "1" }, false],
      [{}, { TERM: "dumb" }, false],
      [{}, { TERM: "dumb", CLICOLOR_FORCE: "1" }, true],
      [{ color: true }, { NO_COLOR: "1" }, true],
      [{ color: false }, { FORCE_COLOR: "1" }, false],
    ];
    for (const [flags, env, expected] of cases) {
      assert.equal(await coloured(flags, env, true), expected, JSON.stringify([flags, env]));
    }
    assert.equal(await coloured({}, {}, false), false);
  });

  it("measures wide characters and escapes line breaks in a row", () => {
    const rows = ["abc", "漢字", "e\u0301", "🎉"].map((name) => [name, "|"]);
    const { lines } = fitTable(rows, { columns: ["name", ""], window: 80, isComplete: true });
    assert.deepEqual(lines.map(stripStyles), ["NAME  ", "abc   |", "漢字  |", "e\u0301     |", "🎉    |"]);
    assert.equal(formatTsvLine(["a\tb", "c\nd\\e"]), "a\\tb\tc\\nd\\\\e\n");
    assert.equal(formatCsvLine(["a,b", 'c"d', "e"]), '"a,b","c""d",e\r\n');
  });
});

it("a piped response includes field names if it has undeclared fields", async (t) => {
  const { svc } = await startCliEmulator(t);
  const { exit, stdout } = await svc("oidc discovery");
  const lines = stdout.trimEnd().split("\n");
  assert.deepEqual([exit, lines.length > 5, lines.filter((line) => !/^\w+\t./.test(line))], [0, true, []]);
});
