import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { createBulkFixture, createNumberedIds } from "../../support/cli/bulk-stage.ts";

const joinRows = (rows: readonly string[]) => rows.map((row) => `${row}\n`).join("");
const smallBatches = "--batch-size 2 --concurrency 1 --cluster eu-1";
/** The fourth request fails, so three batches are finished. */
const failFourthCall = ({ number }: { number: number }) => (number === 4 ? { status: 503 } : undefined);

describe("bulk job with piped input", () => {
  for (const [label, rows] of [
    ["between batches", 2],
    ["in the middle of a batch", 3],
    ["in the last finished batch", 5],
    ["before the first batch", 0],
  ] as const) {
    it(`rejects a resume with too few rows: ${label}`, async (t) => {
      const { svc, listRequests } = await createBulkFixture(t, [], failFourthCall);
      const all = createNumberedIds(10);
      await svc(`router map-clients - ${smallBatches} --retries 0`, { stdin: joinRows(all) });
      const { exit, stdout, stderr } = await svc("router jobs resume --last - --quiet", {
        stdin: joinRows(all.slice(0, rows)),
      });
      const difference = rows === 5 ? "finished rows have changed" : "the input ends before those rows";
      assert.deepEqual([exit, stdout, listRequests().length], [2, "", 4], stderr);
      assert.ok(
        stderr.includes(
          `error: The rows differ from those that this job started with: ${difference}.\n` +
            "  Pass the same rows again from the beginning; finished rows are skipped. Or start a new job.\n",
        ),
        stderr,
      );
      assert.equal(JSON.parse((await svc("router jobs show --last --json=status")).stdout).status, "interrupted");
      const result = await svc("router jobs resume --last -", { stdin: joinRows(all) });
      assert.deepEqual(
        [result.exit, result.stdout, listRequests().slice(4)],
        [
          0,
          "Mapped 10 rows to eu-1\n",
          [
            ["c6", "c7"],
            ["c8", "c9"],
          ],
        ],
      );
    });
  }

  it("resumes with a file of the same rows only", async (t) => {
    const { svc, listRequests, write } = await createBulkFixture(t, createNumberedIds(8), failFourthCall);
    await svc(`router map-clients - ${smallBatches} --retries 0`, { stdin: joinRows(createNumberedIds(8)) });
    await write("other.txt", ["x", ...createNumberedIds(8)]);
    assert.equal((await svc("router jobs resume --last other.txt")).exit, 2);
    const { exit, stdout, stderr } = await svc("router jobs resume --last rows.txt");
    assert.deepEqual([exit, stdout, listRequests().slice(4)], [0, "Mapped 8 rows to eu-1\n", [["c6", "c7"]]], stderr);
  });

  it("reports a consistent number of finished rows at an invalid row", async (t) => {
    for (const flags of ["--json", ""]) {
      const { svc, listRequests } = await createBulkFixture(t, []);
      const stdin = joinRows([...createNumberedIds(9), "wrong one", "c10"]);
      const run = `router map-clients - --batch-size 2 --concurrency 6 --cluster eu-1 ${flags} --quiet`;
      const { exit, stderr } = await svc(run, { stdin });
      const counts = [...stderr.matchAll(/(\d+) rows(?: before it are done|")/g)].map(([, count]) => Number(count));
      assert.deepEqual([exit, listRequests().length, counts], [3, 4, flags ? [8, 8] : [8]], stderr);
    }
  });
});

describe("named pipe as input", { skip: process.platform === "win32" && "there are none here" }, () => {
  /** A stage with a named pipe `pipe` that receives the text once a reader opens it. */
  async function createPipeFixture(
    t: Parameters<typeof createBulkFixture>[0],
    script?: Parameters<typeof createBulkFixture>[2],
  ) {
    const fixture = await createBulkFixture(t, [], script);
    const path = join(fixture.cwd, "pipe");
    await promisify(execFile)("mkfifo", [path]);
    const filled = async (content: string) => {
      const file = await open(path, "w");
      await file.writeFile(content);
      await file.close();
    };
    return { ...fixture, filled };
  }

  it("is read once like standard input and resumes with new input", async (t) => {
    const { svc, listRequests, filled } = await createPipeFixture(t, failFourthCall);
    const content = joinRows(createNumberedIds(8));
    const [{ exit, stderr }] = await Promise.all([
      svc(`router map-clients pipe ${smallBatches} --retries 0`),
      filled(content),
    ]);
    assert.equal(exit, 75, stderr);
    assert.match(
      stderr,
      /^job_\w+: map-clients, rows from pipe, to .*\njob_(\w+) stopped\. Resume it with: svc router jobs resume job_\1 -\n/,
    );
    const nothing = await svc("router jobs resume --last");
    assert.match(nothing.stderr, /^error: This job read a pipe\. Pipe the same rows again, with - as the file\.\n/);
    const [result] = await Promise.all([svc("router jobs resume --last ./pipe"), filled(content)]);
    assert.deepEqual(
      [result.exit, result.stdout, listRequests().slice(4)],
      [0, "Mapped 8 rows to eu-1\n", [["c6", "c7"]]],
    );
  });

  it("supports a preview but no plan", async (t) => {
    const { svc, listRequests, filled } = await createPipeFixture(t);
    const [dry] = await Promise.all([svc(`router map-clients pipe ${smallBatches} --dry-run`), filled("a\nb\n")]);
    assert.deepEqual([dry.exit, dry.stdout.split("\n")[0]], [0, "Would map 2 client IDs to eu-1 in 1 request"]);
    const result = await svc(`router map-clients pipe ${smallBatches} --plan-out plan.json`);
    assert.match(result.stderr, /^error: A plan requires a file: pipe cannot be read twice\.\n/);
    assert.deepEqual([result.exit, listRequests()], [2, []]);
  });

  it("is reported by its name if the pipe is empty", async (t) => {
    const { svc, filled } = await createPipeFixture(t);
    const [{ exit, stderr }] = await Promise.all([
      svc(`router map-clients pipe ${smallBatches} --quiet`),
      filled("\n"),
    ]);
    assert.deepEqual([exit, stderr.split("\n")[0]], [2, "error: <file>: pipe has no rows"]);
  });

  it("is rejected for the resume of a job with a file", async (t) => {
    const { svc, cwd } = await createPipeFixture(t, failFourthCall);
    await writeFile(join(cwd, "rows.txt"), joinRows(createNumberedIds(8)));
    await svc(`router map-clients rows.txt ${smallBatches} --retries 0`);
    for (const [input, name] of [
      ["./pipe", "./pipe"],
      ["-", "standard input"],
    ]) {
      const { exit, stderr } = await svc(`router jobs resume --last ${input}`);
      const message = `error: This job reads ${join(cwd, "rows.txt")}, not ${name}.`;
      assert.deepEqual([exit, stderr.split("\n")[0]], [2, message]);
    }
  });

  it("includes a process substitution and the path of standard input", async (t) => {
    const { svc, listRequests, cwd } = await createBulkFixture(t, createNumberedIds(3));
    const file = await open(join(cwd, "rows.txt"), "r");
    t.after(() => file.close());
    const { exit, stderr } = await svc(`router map-clients /dev/fd/${file.fd} --cluster eu-1`);
    assert.deepEqual([exit, listRequests()], [0, [createNumberedIds(3)]], stderr);
    const { input } = JSON.parse((await svc("router jobs show --last --json")).stdout);
    assert.equal(input, "-");
    assert.equal(await readFile(join(cwd, "rows.txt"), "utf8"), joinRows(createNumberedIds(3)));
  });
});
