import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { createBulkFixture } from "../../support/cli/bulk-stage.ts";

describe("tables with other delimiters", () => {
  it("reads .tsv files, gzipped or not, and an explicit format", async (t) => {
    const { svc, cwd, listRequests } = await createBulkFixture(t, []);
    const table = "\ufeffname\tid\r\nAda\tc-1\r\n\r\nBob\tc-2";
    await writeFile(join(cwd, "people.tsv"), table);
    await writeFile(join(cwd, "people.tsv.gz"), gzipSync(table));
    for (const file of ["people.tsv", "people.tsv.gz", "- --input-format tsv"]) {
      for (const column of ["id", "2"]) {
        const { exit, stderr } = await svc(
          `router map-clients ${file} --column ${column} --cluster eu-1 --skip-invalid`,
          { stdin: table },
        );
        // A column number makes the heading a row, which is invalid.
        assert.deepEqual([exit, listRequests().pop()], [column === "id" ? 0 : 3, ["c-1", "c-2"]], stderr);
      }
    }
  });

  it("reads the output of --format tsv, including escapes", async (t) => {
    const { svc, listRequests } = await createBulkFixture(t, ['"c\\1\\n"', "d\u00e9", "c 1", "\\x41"]);
    const run = "router map-clients - --cluster eu-1 --results all --quiet";
    const stdin = 'c\\1\\n"\nd\u00e9\n\\x41\n';
    assert.equal((await svc(run, { stdin })).exit, 0);
    const { stdout } = await svc("router jobs results --last --format tsv");
    assert.match(stdout, /^row\tinput\tstatus\tcode\tmessage\tmoved_from\n1\tc\\\\1\\\\n"\tok\t\t\t\n2\td\u00e9\tok/);
    const secondResult = await svc("router map-clients - --input-format tsv --column input --cluster eu-1", {
      stdin: stdout,
    });
    assert.deepEqual([secondResult.exit, listRequests()[1]], [0, listRequests()[0]], secondResult.stderr);
  });

  it("rejects a row if its TSV column or the whole row is empty", async (t) => {
    const { svc, listRequests } = await createBulkFixture(t, []);
    const stdin = "name\tid\nAda\tc-1\nBob\n\t\n\nCleo\t \nDan\tc-2\n";
    const run = "router map-clients - --input-format tsv --column id --cluster eu-1";
    const result = await svc(`${run} --quiet`, { stdin });
    assert.deepEqual([result.exit, listRequests()], [2, []]);
    assert.match(result.stderr, /^error: Row 3 \(Bob\) is without a string in the column "id"\.\n/);
    const skipped = await svc(`${run} --skip-invalid --json`, { stdin });
    const { rows, invalid } = JSON.parse(skipped.stdout);
    assert.deepEqual([skipped.exit, rows, invalid, listRequests()], [3, 2, 3, [["c-1", "c-2"]]]);
  });

  for (const [name, delimiter, table] of [
    ["a semicolon", ";", '\ufeff"id";"name"\n"c-1";"Ada; Countess"\n'],
    ["a tab with quotes", "tab", '"id"\t"name"\n"c-1"\t"Ada"\n'],
    ["an escaped tab", "\\t", "id\tname\nc-1\tAda\n"],
    ["a bar", "|", "id|name\nc-1|Ada\n"],
  ] as const) {
    it(`accepts ${name} as an explicit delimiter, also in a pipe and after a resume`, async (t) => {
      let isDown = true;
      const { svc, cwd, listRequests } = await createBulkFixture(t, [], () => (isDown ? { status: 503 } : undefined));
      await writeFile(join(cwd, "people.csv"), table);
      const run = (file: string) => ["router", "map-clients", file, "--column", "id", "--delimiter", delimiter];
      const line = (file: string) => [...run(file), "--cluster", "eu-1", "--retries", "0", "--quiet"];
      const result = await svc(line("people.csv") as unknown as string);
      assert.equal(result.exit, 75, result.stderr);
      isDown = false;
      assert.equal((await svc("router jobs resume --last --quiet")).exit, 0);
      assert.equal((await svc(line("-") as unknown as string, { stdin: table })).exit, 0);
      assert.deepEqual(listRequests(), [["c-1"], ["c-1"], ["c-1"]]);
    });
  }

  for (const [argv, message] of [
    ["rows.tsv --delimiter ;", "--delimiter requires csv"],
    ["rows.txt --input-format lines --delimiter ;", "--delimiter requires csv"],
    ["rows.csv --delimiter ;;", '--delimiter must be one character (no quote or line break) or tab, got ";;"'],
    ['rows.csv --delimiter "', '--delimiter must be one character (no quote or line break) or tab, got """'],
  ] as const) {
    it(`rejects ${argv}`, async (t) => {
      const { svc, listRequests } = await createBulkFixture(t, []);
      const { exit, stderr } = await svc(
        `router map-clients ${argv} --column 1 --cluster eu-1`.replace(/(lines.*) --column 1/, "$1"),
      );
      assert.deepEqual([exit, stderr.split("\n")[0], listRequests()], [2, `error: ${message}`, []]);
    });
  }
});
