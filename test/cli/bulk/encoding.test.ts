import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { createBulkFixture, createNumberedIds } from "../../support/cli/bulk-stage.ts";

const latin1 = (text: string) => Buffer.from(text, "latin1");
const asRows = "--input-format";
const hint = "  Convert it to UTF-8. From WINDOWS-1252: iconv -f WINDOWS-1252 -t UTF-8 FILE\n";

describe("input with invalid UTF-8", () => {
  for (const [label, name, flags, text, row] of [
    ["lines", "rows.txt", "", "c-1\nc-ü\nc-ö\n", 2],
    ["CSV", "rows.csv", "--column id", "id\nc-ü\nc-ö\n", 2],
    ["CSV, in an unused column", "rows.csv", "--column id", "id,name\nc-1,Ada\nc-2,Zoë\n", 3],
    ["CSV, within a field over several lines", "rows.csv", "--column id", 'id,name\nc-1,Ada\nc-2,"\n\nZoë"\n', 3],
    ["CSV, before a wrong quote", "rows.csv", "--column id", 'id\nc-1\nö\n"c"d\n', 3],
    ["TSV", "rows.tsv", "--column id", "id\tname\nc-1\tAda\nc-2\tZoë\n", 3],
    ["NDJSON", "rows.ndjson", "--column id", '{"id":"c-1"}\n{"id":"c-ü"}\n', 2],
    ["at the end of the input", "rows.txt", "", "c-1\nc-2\nc-ü", 3],
  ] as const) {
    it(`rejects the input with its row before anything is sent: ${label}`, async (t) => {
      const { svc, cwd, listRequests } = await createBulkFixture(t, []);
      const format = name.replace("rows.", "").replace("txt", "lines");
      const expected = `error: Row ${row} is not UTF-8\n${hint}`;
      for (const bytes of [latin1(text), gzipSync(latin1(text))]) {
        await writeFile(join(cwd, name), bytes);
        const file = await svc(`router map-clients ${name} ${flags} --cluster eu-1 --quiet`);
        assert.deepEqual(file, { exit: 2, stdout: "", stderr: expected });
        const each = [...bytes].map((byte) => Uint8Array.of(byte));
        for (const stdin of [
          bytes,
          (async function* () {
            yield* each;
          })(),
        ]) {
          const result = await svc(`router map-clients - ${asRows} ${format} ${flags} --cluster eu-1 --quiet`, {
            stdin,
          });
          assert.deepEqual(result, { exit: 2, stdout: "", stderr: expected });
        }
      }
      assert.deepEqual(listRequests(), []);
      assert.equal((await svc("router jobs list --json")).stdout, "[]\n");
    });
  }

  it("reports UTF-16 if the input has a byte order mark", async (t) => {
    const { svc, listRequests } = await createBulkFixture(t, []);
    const stdin = Buffer.from("\ufeffc-1\n", "utf16le");
    const { exit, stderr } = await svc("router map-clients - --cluster eu-1 --quiet", { stdin });
    assert.deepEqual([exit, listRequests()], [2, []]);
    assert.match(stderr, /Row 1 is not UTF-8\n {2}Convert it to UTF-8\. From UTF-16: iconv -f UTF-16 -t UTF-8 FILE\n/);
  });

  for (const encoding of ["UTF-16LE", "UTF-16BE"]) {
    it(`reports ${encoding} if the input has no byte order mark`, async (t) => {
      const { svc, cwd, listRequests } = await createBulkFixture(t, []);
      for (const text of ["name,id\r\nAda,c-1\r\n", "name,id\nZoë,c-1\n"]) {
        const bytes = Buffer.from(text, "utf16le");
        await writeFile(join(cwd, "rows.csv"), encoding === "UTF-16BE" ? bytes.swap16() : bytes);
        for (const flags of ["", "--column id", "--input-format lines"]) {
          const { exit, stderr } = await svc(`router map-clients rows.csv ${flags} --cluster eu-1 --quiet`);
          const remedy = `Convert it to UTF-8. From ${encoding}: iconv -f ${encoding} -t UTF-8 FILE`;
          assert.deepEqual([exit, stderr], [2, `error: Row 1 is not UTF-8\n  ${remedy}\n`]);
        }
      }
      assert.deepEqual(listRequests(), []);
    });
  }

  it("stops the job late in a pipe and resumes it after conversion", async (t) => {
    const { svc, listRequests } = await createBulkFixture(t, []);
    const run = "router map-clients - --batch-size 2 --concurrency 1 --cluster eu-1 --quiet";
    const text = "a\nb\nc\nd\ne\nf-ü\n";
    const { exit, stderr } = await svc(run, { stdin: latin1(text) });
    assert.deepEqual(
      [exit, listRequests()],
      [
        3,
        [
          ["a", "b"],
          ["c", "d"],
        ],
      ],
    );
    assert.match(stderr, /error: Row 6 is not UTF-8\. 4 rows before it are done\.\n {2}Convert/);
    const result = await svc("router jobs resume --last - --quiet", { stdin: text });
    assert.deepEqual([result.exit, listRequests().slice(2)], [0, [["e", "f-ü"]]], result.stderr);
  });

  it("accepts characters that are split at any byte", async (t) => {
    const { svc, listRequests } = await createBulkFixture(t, []);
    const stdin = (async function* () {
      for (const byte of Buffer.from("\ufeffid\nzoë\n名前\n😀\n")) yield Uint8Array.of(byte);
    })();
    const { exit, stderr } = await svc("router map-clients - --column id --cluster eu-1", { stdin });
    assert.deepEqual([exit, listRequests()], [0, [["zoë", "名前", "😀"]]], stderr);
  });
});

describe("email address validation", () => {
  const long = `${"a".repeat(243)}@ex.example`;
  for (const [label, row, isAddress] of [
    ["with a NUL", "a\0b@ex.example", false],
    ["with another control character", "a\x1bb@ex.example", false],
    ["with a replacement character", "m\ufffdller@ex.example", false],
    ["of five million characters", `${"a".repeat(5_000_000)}@ex.example`, false],
    ["of 255 characters", `a${long}`, false],
    ["of 254 characters", long, true],
    ["with characters of any script", "müller@名前.example", true],
  ] as const) {
    it(`${isAddress ? "accepts" : "rejects"} an address ${label}`, async (t) => {
      const { svc, service } = await createBulkFixture(t, [row]);
      const { exit, stderr } = await svc("router map-emails rows.txt --cluster eu-1 --quiet");
      assert.deepEqual([exit, service.calls.length], isAddress ? [0, 1] : [2, 0], stderr);
      if (!isAddress) assert.match(stderr, /row 1 \(.{1,85}\) is neither an e-mail address nor a SHA-256 digest/);
    });
  }

  it("rejects any other identifier with control characters", async (t) => {
    const { svc, listRequests } = await createBulkFixture(t, ["c\x001", ...createNumberedIds(1)]);
    const { exit, stderr } = await svc("router map-clients rows.txt --cluster eu-1 --quiet");
    assert.deepEqual([exit, listRequests()], [2, []]);
    assert.match(stderr, /row 1 \(c\\x001\) is not a valid client ID: it contains control characters/);
  });

  for (const character of ["\u200b", "\u200e", "\u2060", "\u00ad", "\u202e"]) {
    const code = `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
    it(`rejects identifiers with the invisible character ${code}, which would be mapped as others`, async (t) => {
      const { svc, listRequests } = await createBulkFixture(t, ["c-1", `c-2${character}`]);
      const problem = `is not a valid client ID: it contains the invisible character ${code}`;
      const file = await svc("router map-clients rows.txt --cluster eu-1 --quiet");
      assert.deepEqual([file.exit, listRequests()], [2, []]);
      assert.ok(file.stderr.includes(problem), file.stderr);
      const flag = await svc(["router", "map-clients", "--client-ids", `${character}c-3`, "--cluster", "eu-1"]);
      assert.deepEqual([flag.exit, listRequests()], [2, []], flag.stderr);
    });
  }
});
