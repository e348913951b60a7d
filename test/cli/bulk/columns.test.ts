import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createBulkFixture } from "../../support/cli/bulk-stage.ts";

const rows = "name,id\nAda,c-1\nBob,c-2\n";

describe("--column", () => {
  it("implies CSV for a pipe and for a file with any name", async (t) => {
    const { svc, listRequests } = await createBulkFixture(t, ["name,id", "Ada,c-1", "Bob,c-2"]);
    const result = await svc("router map-clients - --column id --cluster eu-1", { stdin: rows });
    assert.deepEqual(
      [result.exit, result.stdout, listRequests()],
      [0, "Mapped 2 client IDs to eu-1\n", [["c-1", "c-2"]]],
      result.stderr,
    );
    const withPath = await svc("router map-clients rows.txt --column id --cluster eu-1");
    assert.deepEqual([withPath.exit, listRequests()[1]], [0, ["c-1", "c-2"]], withPath.stderr);
  });

  it("selects fields of NDJSON rows and prints the flag that declares NDJSON", async (t) => {
    const { svc, listRequests } = await createBulkFixture(t, []);
    const stdin = '{"name":"Ada","id":"c-1"}\n';
    const guessed = await svc("router map-clients - --column id --cluster eu-1", { stdin });
    assert.equal(guessed.exit, 2);
    assert.match(guessed.stderr, /--input-format ndjson/);
    const result = await svc("router map-clients - --column id --cluster eu-1 --input-format ndjson", { stdin });
    assert.deepEqual([result.exit, listRequests()], [0, [["c-1"]]], result.stderr);
  });

  it("selects one of several columns with the same name by its number", async (t) => {
    const { svc, cwd, listRequests } = await createBulkFixture(t, []);
    for (const name of ["people.csv", "people.tsv"]) {
      const cell = name.endsWith("csv") ? "," : "\t";
      await writeFile(join(cwd, name), `client_id${cell}client_id\nc-1${cell}c-2\n`);
      const byName = await svc(`router map-clients ${name} --column client_id --cluster eu-1`);
      assert.equal(byName.exit, 2);
      assert.match(
        byName.stderr,
        /Columns 1 and 2 have the same name.*\n {2}Select one by its number\.\n.*--column 1\n/,
      );
      for (const number of [1, 2]) {
        const { exit, stderr } = await svc(`router map-clients ${name} --column ${number} --cluster eu-1`);
        assert.deepEqual([exit, listRequests().at(-1)], [0, [`c-${number}`]], stderr);
      }
    }
  });

  it("rejects plain lines, which have no columns", async (t) => {
    const { svc, listRequests } = await createBulkFixture(t, ["c-1"]);
    const { exit, stderr } = await svc("router map-clients rows.txt --column id --cluster eu-1 --input-format lines");
    assert.deepEqual([exit, listRequests()], [2, []]);
    assert.match(stderr, /^error: --column requires csv, tsv or ndjson: plain lines have no columns\n/);
  });
});

describe("--errors-out", () => {
  const bad = `row,input,status,code,message,moved_from\r\n2,b b,invalid,invalid_identifier,not a valid client ID: it contains spaces,\r\n`;
  for (const results of ["errors", "all"]) {
    it(`contains only rows with errors with --results ${results}, also after a resume`, async (t) => {
      const failOnce = ({ number }: { number: number }) => (number === 2 ? { status: 503 } : undefined);
      const { svc, cwd } = await createBulkFixture(t, ["a", "b b", "c"], failOnce);
      const line = "router map-clients rows.txt --cluster eu-1 --skip-invalid --errors-out bad.csv";
      assert.equal((await svc(`${line} --batch-size 1 --concurrency 1 --retries 0 --results ${results}`)).exit, 75);
      assert.equal((await svc("router jobs resume --last")).exit, 3);
      assert.equal(await readFile(join(cwd, "bad.csv"), "utf8"), bad);
      assert.equal((await svc("router jobs results --last --status errors --format csv")).stdout, bad);
    });
  }

  for (const [name, flags] of [
    ["a plan", "--plan-out plan.json"],
    ["a dry run", "--dry-run"],
  ] as const) {
    it(`writes the rows that ${name} omits`, async (t) => {
      const { svc, cwd } = await createBulkFixture(t, ["a", "b b", "c"]);
      const line = "router map-clients rows.txt --cluster eu-1 --skip-invalid --errors-out bad.csv";
      const { exit, stderr } = await svc(`${line} ${flags}`);
      assert.equal(exit, 0, stderr);
      assert.equal(await readFile(join(cwd, "bad.csv"), "utf8"), bad);
    });
  }
});
