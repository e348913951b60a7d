import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { formatFirstLine } from "../../../src/files/log-line.ts";
import { createBulkFixture, createNumberedIds } from "../../support/cli/bulk-stage.ts";

const failThirdCall = ({ number }: { number: number }) => (number === 3 ? { status: 503 } : undefined);
const run = "router map-clients rows.txt --batch-size 2 --concurrency 1 --cluster eu-1 --retries 0";

describe("damaged job log", () => {
  type Damage = (text: string) => string;
  const damages: [label: string, damage: Damage, reason: string][] = [
    [
      "in its middle",
      (text) => text.replace('"started"', '"strated"'),
      ", line 2: the checksum of the line does not match",
    ],
    [
      "in its last line",
      (text) => text.replace('"stopped"', '"stepped"'),
      ", line 5: the checksum of the line does not match",
    ],
    [
      "by a missing line",
      (text) => text.split("\n").toSpliced(2, 1).join("\n"),
      ", line 3: a line before it is missing",
    ],
    [
      "in its first line",
      (text) => text.replace("svc_job_log", "svc_job_lag"),
      ", line 1: the checksum of the line does not match",
    ],
    ["(empty)", () => "", " is empty or cut off in its first line"],
    [
      "(later version)",
      () => formatFirstLine('{"svc_job_log":2,"written_by":"9.9.9"}').toString(),
      " was written by another version of svc (format 2)",
    ],
  ];
  for (const [label, damage, reason] of damages) {
    it(`reports a log that is damaged ${label} and drops no rows`, async (t) => {
      const { svc, jobs, listRequests } = await createBulkFixture(t, createNumberedIds(8), failThirdCall);
      await svc(run);
      const [id] = await readdir(jobs);
      const log = join(jobs, id!, "job.log");
      const damagedLog = damage(await readFile(log, "utf8"));
      await writeFile(log, damagedLog);
      const before = await readdir(join(jobs, id!));
      for (const verb of ["resume", "show", "results", "undo"]) {
        assert.deepEqual(await svc(`router jobs ${verb} --last`), {
          exit: 1,
          stdout: "",
          stderr: [
            `error: Cannot read ${id}: ${log}${reason}. Nothing was changed.`,
            `  Run the command of the job again: rows that are sent twice change nothing. Then remove ${join(jobs, id!)}.`,
            "  try: svc router jobs list",
            "",
          ].join("\n"),
        });
      }
      const result = await svc("router jobs list --json=id,status,stopped_because");
      assert.deepEqual(JSON.parse(result.stdout), [{ id, status: "damaged", stopped_because: `${log}${reason}` }]);
      assert.deepEqual([await readFile(log, "utf8"), await readdir(join(jobs, id!))], [damagedLog, before]);
      assert.equal(listRequests().length, 3);
    });
  }
});

describe("damaged job results", () => {
  it("reports results that are shorter than the log states instead of padding them", async (t) => {
    const { svc, jobs } = await createBulkFixture(t, ["c0", "c 1", "c2", "c3", "c4", "c5"], failThirdCall);
    await svc(`${run} --skip-invalid`);
    const [id] = await readdir(jobs);
    const results = join(jobs, id!, "results.csv");
    await writeFile(results, "row,input,status,code,message,moved_from\r\n");
    const { stderr } = await svc("router jobs resume --last --quiet");
    assert.equal(stderr.split("\n")[0], `warning: ${results} was truncated: earlier failed rows are missing`);
    assert.equal(await readFile(results, "utf8"), "row,input,status,code,message,moved_from\r\n");
  });
});
