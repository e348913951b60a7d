import assert from "node:assert/strict";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { systemWallClock } from "../../../src/base/clock.ts";
import { createBulkFixture, createNumberedIds } from "../../support/cli/bulk-stage.ts";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";

const rows = [
  "ada@example.com",
  "ADA@example.com",
  "bob@example.com;Bob",
  "cy@x",
  "cleo@example.com;",
  "dan@example.com",
];

describe("bulk job report", () => {
  it("counts rows, repetitions, reasons and duration as CSV", async (t) => {
    let now = Date.parse("2031-01-02T03:04:05Z");
    const wall = { ...systemWallClock, now: () => now };
    const { svc, cwd, service } = await createBulkFixture(t, rows, () => {
      now += 80_000;
      return undefined;
    });
    const line = "router map-emails rows.txt --input-format lines --cluster eu-1 --skip-invalid --report report.csv";
    const { exit } = await svc(line, { wall });
    assert.equal(exit, 3);
    const [header, id, ...report] = (await readFile(join(cwd, "report.csv"), "utf8")).split("\r\n");
    assert.deepEqual(header, "section,item,value");
    assert.match(id!, /^Job,id,job_20310102T030405Z_\w+$/);
    const reason = "neither an e-mail address nor a SHA-256 digest:";
    assert.deepEqual(report, [
      "Job,command,svc router map-emails",
      "Job,cluster,eu-1",
      `Job,service,${service.url}`,
      `Job,input,${join(cwd, "rows.txt")}`,
      "Job,status,finished",
      "Job,begun,2031-01-02T03:04:05Z",
      "Job,written,2031-01-02T03:05:25Z",
      "Job,duration,1 min 20 s",
      "Rows,in the input,6",
      "Rows,confirmed by the service,3",
      "Rows,different identifiers in the input,2",
      'Rows,"invalid, not sent",3',
      "Rows,rejected by the service,0",
      "Rows,moved from another cluster,not known",
      `Invalid rows by reason,"${reason} it contains "";"" (first in row 3)",2`,
      `Invalid rows by reason,${reason} its domain has no dot (first in row 4),1`,
      "",
    ]);
  });

  it("renders one HTML page with escaped input", async (t) => {
    const { svc, cwd } = await createBulkFixture(t, ["ada@example.com", "<b>@example.com"]);
    await svc("router map-emails rows.txt --cluster eu-1 --skip-invalid --report report.html --quiet");
    const page = await readFile(join(cwd, "report.html"), "utf8");
    assert.match(page, /^<!doctype html>\n<html lang="en">/);
    assert.match(page, /<tr><td>[^<]*it contains &quot;&lt;&quot; \(first in row 2\)<\/td><td>1<\/td><\/tr>/);
    assert.ok(!page.includes("<b>"));
  });

  it("is written when a job stops and again after a resume", async (t) => {
    const { svc, cwd } = await createBulkFixture(t, createNumberedIds(4), ({ number }) =>
      number === 2 ? { status: 503 } : undefined,
    );
    await svc("router map-clients rows.txt --batch-size 2 --concurrency 1 --retries 0 --cluster eu-1 --report r.csv");
    const report = () => readFile(join(cwd, "r.csv"), "utf8");
    assert.match(await report(), /Job,status,"?stopped: .*\r\n[\s\S]*Rows,confirmed by the service,2\r\n/);
    assert.equal((await svc("router jobs resume --last")).exit, 0);
    assert.match(await report(), /Job,status,finished\r\n[\s\S]*Rows,confirmed by the service,4\r\n/);
  });

  it("fails the command if it cannot be written when the job is finished, like --errors-out", async (t) => {
    for (const flag of ["--report", "--errors-out"]) {
      const { svc, cwd } = await createBulkFixture(t, createNumberedIds(2), async () => {
        await rm(join(cwd, "out"), { recursive: true });
        return undefined;
      });
      await mkdir(join(cwd, "out"));
      const { exit, stdout, stderr } = await svc(`router map-clients rows.txt --cluster eu-1 ${flag} out/r.csv`);
      assert.deepEqual([exit, stdout], [1, "Mapped 2 client IDs to eu-1\n"], stderr);
      assert.match(stderr, /\nerror: Failed to write .*r\.csv: .*\n {2}The (job is finished\.|rows are in) /);
      assert.equal(JSON.parse((await svc("router jobs show --last --json")).stdout).status, "done");
    }
  });

  it("writes the rejected rows although the report cannot be written", async (t) => {
    const { svc, cwd } = await createBulkFixture(t, createNumberedIds(2), async () => {
      await rm(join(cwd, "out"), { recursive: true });
      return undefined;
    });
    await mkdir(join(cwd, "out"));
    const files = "--report out/r.csv --errors-out errors.csv";
    assert.equal((await svc(`router map-clients rows.txt --cluster eu-1 ${files}`)).exit, 1);
    assert.match(await readFile(join(cwd, "errors.csv"), "utf8"), /^row,/);
  });

  it("replaces only a report and supports two formats", async (t) => {
    const { svc, cwd, listRequests } = await createBulkFixture(t, createNumberedIds(1));
    await writeFile(join(cwd, "mine.csv"), "mine\n");
    const mine = await svc("router map-clients rows.txt --cluster eu-1 --report mine.csv");
    assert.match(mine.stderr, /^error: --report: mine\.csv exists and was not written by this option$/m);
    const otherResult = await svc("router map-clients rows.txt --cluster eu-1 --report report.pdf");
    assert.match(otherResult.stderr, /^error: --report must be a file \.html or \.csv, got "report\.pdf"$/m);
    assert.deepEqual([mine.exit, otherResult.exit, listRequests()], [2, 2, []]);
  });
});

describe("bulk job counts", () => {
  it("separates distinct identifiers from repeated rows", async (t) => {
    const { svc } = await startCliEmulator(t);
    const stdin = "ada@example.com\nAda@Example.com\nbob@example.com\n";
    const result = await svc("router map-emails - --cluster eu-1", { stdin });
    assert.equal(result.stdout, "Mapped 2 e-mails to eu-1 (3 rows, 1 of them repeated)\n");
    const dry = await svc("router map-emails - --cluster eu-1 --dry-run", { stdin });
    assert.match(dry.stderr, /^1 row repeated: 2 e-mails in total$/m);
  });

  it("counts rows if there are too many identifiers to compare them", async (t) => {
    const { svc } = await createBulkFixture(t, []);
    const stdin = `${Array.from({ length: 100_001 }, (_, i) => `c-${i}\n`).join("")}c-1\n`;
    const dry = await svc("router map-clients - --cluster eu-1 --dry-run", { stdin });
    assert.match(dry.stdout, /^Would map 100002 rows to eu-1 in 26 requests\n/);
  });

  it("reports no removals, because the service does not count removals", async (t) => {
    const { svc } = await startCliEmulator(t);
    await svc("router map-emails - --cluster us-1", { stdin: "ada@example.com\n" });
    const sentences = [
      "Requested removal of 1 e-mail from eu-1; the service confirmed it\n",
      "Identifiers that are not mapped to eu-1 were ignored; the service does not report how many\n",
    ];
    for (const stdin of ["ada@example.com\n", "ada@example.com\n"]) {
      const { exit, stdout, stderr } = await svc("router unmap-emails - --cluster eu-1 --confirm eu-1", { stdin });
      assert.deepEqual([exit, stdout, stderr.split("\n").slice(1).join("\n")], [0, ...sentences]);
    }
  });

  it("includes only requests that are sent", async (t) => {
    const { svc, cwd } = await createBulkFixture(t, []);
    await writeFile(join(cwd, "rows.txt"), "a b\nc d\ne\nf g\n");
    const line = "router map-clients rows.txt --cluster eu-1 --batch-size 2 --skip-invalid --dry-run --json";
    const { rows: valid, calls, invalid } = JSON.parse((await svc(line)).stdout);
    assert.deepEqual({ valid, calls, invalid }, { valid: 1, calls: 1, invalid: 3 });
  });
});
