import assert from "node:assert/strict";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { bulkStage, numbered } from "../../support/cli/bulk-stage.ts";

const jobsOfFormat1 = join(import.meta.dirname, "../../../fixtures/jobs/1");
const stopsAtThird = ({ number }: { number: number }) => (number === 3 ? { status: 503 } : undefined);
const run = "router map-clients rows.txt --batch-size 2 --concurrency 1 --cluster eu-1 --retries 0";

describe("the log of a job", () => {
  it("that an earlier version began is listed and gone on with, and its torn end is kept", async (t) => {
    const { svc, service, jobs, sent } = await bulkStage(t, []);
    await cp(jobsOfFormat1, jobs, { recursive: true });
    const [id] = await readdir(jobs);
    const folder = join(jobs, id!);
    const record = await readFile(join(folder, "job.json"), "utf8");
    await writeFile(join(folder, "job.json"), record.replace("http://router.example", service.url));

    const listed = JSON.parse((await svc("router jobs list --json=id,status,rows,batches,invalid")).out);
    assert.deepEqual(listed, [{ id, status: "interrupted", rows: 3, batches: 2, invalid: 1 }]);

    const stdin = ["c0", "c1", "c 2", "c3", "c4", "c5", "c6", ""].join("\n");
    const { exit, out, err } = await svc("router jobs resume --last - --quiet", { stdin });
    const log = join(folder, "log.ndjson");
    assert.deepEqual([exit, out.split("\n")[0]], [3, "Mapped 6 client ids to eu-1"], err);
    assert.equal(
      err.split("\n")[0],
      `warning: ${log} ends with a write that a crash cut short (24 bytes). It is left out, and kept in ${log}.torn`,
    );
    assert.deepEqual(sent(), [["c4", "c5"], ["c6"]]);
    const files = ["job.json", "job.log", "log.ndjson.torn", "results.csv"];
    assert.deepEqual((await readdir(folder)).sort(), files);
    assert.equal(
      await readFile(join(folder, "results.csv"), "utf8"),
      "row,input,status,code,message\r\n3,c 2,invalid,invalid_identifier,no client id: it contains spaces\r\n",
    );
    await svc("router jobs prune --partial --older-than 0s");
    assert.deepEqual(await readdir(jobs), []);
  });

  it("that was damaged is gone on with from the damage, which is told and kept", async (t) => {
    const { svc, jobs, sent } = await bulkStage(t, numbered(8), stopsAtThird);
    await svc(run);
    const [id] = await readdir(jobs);
    const log = join(jobs, id!, "job.log");
    const text = await readFile(log, "utf8");
    const damaged = text.replace('"started"', '"strated"');
    const kept = damaged.slice(damaged.indexOf("\n") + 1);
    await writeFile(log, damaged);
    const { exit, err } = await svc("router jobs resume --last --quiet");
    assert.deepEqual(
      [exit, err],
      [
        0,
        `warning: ${log}, line 2: the checksum of the line does not fit. ` +
          `The rest (${kept.length} bytes) is saved in ${log}.torn and will be repeated\n`,
      ],
    );
    assert.equal(await readFile(`${log}.torn`, "utf8"), kept);
    assert.deepEqual(sent().slice(3), [
      ["c0", "c1"],
      ["c2", "c3"],
      ["c4", "c5"],
      ["c6", "c7"],
    ]);
  });

  it("of a later version is no job of this one, and stays as it is", async (t) => {
    const { svc, jobs } = await bulkStage(t, numbered(8), stopsAtThird);
    await svc(run);
    const [id] = await readdir(jobs);
    const log = join(jobs, id!, "job.log");
    const { firstLine } = await import("../../../src/files/log-line.ts");
    await writeFile(log, firstLine('{"svc_job_log":3,"written_by":"9.9.9"}'));
    const before = await readFile(log, "utf8");
    assert.deepEqual((await svc("router jobs resume --last")).exit, 5);
    assert.equal(await readFile(log, "utf8"), before);
  });
});

describe("the results of a job", () => {
  it("that are shorter than the log says are told to be incomplete, not filled with zeros", async (t) => {
    const { svc, jobs } = await bulkStage(t, ["c0", "c 1", "c2", "c3", "c4", "c5"], stopsAtThird);
    await svc(`${run} --skip-invalid`);
    const [id] = await readdir(jobs);
    const results = join(jobs, id!, "results.csv");
    await writeFile(results, "row,input,status,code,message,moved_from\r\n");
    const { err } = await svc("router jobs resume --last --quiet");
    assert.equal(err.split("\n")[0], `warning: ${results} was truncated: earlier failed rows are missing`);
    assert.equal(await readFile(results, "utf8"), "row,input,status,code,message,moved_from\r\n");
  });
});
