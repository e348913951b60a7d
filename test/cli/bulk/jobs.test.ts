import assert from "node:assert/strict";
import { cp, mkdir, readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { systemWallClock } from "../../../src/base/clock.ts";
import { identifyMachine } from "../../../src/files/machine.ts";
import { startBulkService } from "../../support/cli/bulk-service.ts";
import { createBulkFixture, createNumberedIds } from "../../support/cli/bulk-stage.ts";
import { downKey, enterKey, simulateUser } from "../../support/cli/simulated-user.ts";

const run = "router map-clients rows.txt --batch-size 2 --concurrency 1 --cluster eu-1";
/** The second request fails, so one batch is finished. */
const failSecondCall = ({ number }: { number: number }) => (number === 2 ? { status: 503 } : undefined);

describe("bulk jobs", () => {
  it("prints the job ID first, lists jobs and shows their progress", async (t) => {
    const { svc, service, cwd } = await createBulkFixture(t, createNumberedIds(6), failSecondCall);
    const { exit, stderr } = await svc(`${run} --retries 0`);
    const id = /^(job_\w+): map-clients, 6 rows, to http/.exec(stderr)?.[1] ?? "";
    assert.equal(exit, 75);
    assert.ok(stderr.includes(`${id} stopped. Resume it with: svc router jobs resume ${id}\n`), stderr);
    const { created_at, updated_at, stopped_because, ...job } = JSON.parse(
      (await svc(`router jobs show ${id} --json`)).stdout,
    );
    assert.deepEqual(job, {
      id,
      command: "map-clients",
      status: "interrupted",
      cluster_id: "eu-1",
      rows: 2,
      total: 6,
      invalid: 0,
      failed: 0,
      moved: null,
      batches: 1,
      input: join(cwd, "rows.txt"),
      target: service.url,
    });
    assert.ok(stopped_because.length > 0 && created_at <= updated_at);
    await svc("router jobs resume --last");
    const jobList = JSON.parse((await svc("router jobs list --json=id,status,rows")).stdout);
    assert.deepEqual(jobList, [{ id, status: "done", rows: 6 }]);
  });

  it("lists jobs that began within a second from the newest to the oldest", async (t) => {
    const { svc } = await createBulkFixture(t, ["a"]);
    const ids: string[] = [];
    for (let ms = 0; ms < 1_000; ms += 190) {
      const wall = { ...systemWallClock, now: () => Date.parse("2031-01-02T03:04:05Z") + ms };
      ids.unshift(/^job_\w+/.exec((await svc(run, { wall })).stderr)?.[0] ?? "");
    }
    const jobList: { id: string }[] = JSON.parse((await svc("router jobs list --json=id")).stdout);
    assert.deepEqual(
      jobList.map(({ id }) => id),
      ids,
    );
  });

  it("lists damaged jobs together with intact jobs", async (t) => {
    const { svc, jobs } = await createBulkFixture(t, createNumberedIds(4));
    const reasons: Record<string, string> = {};
    for (const [content, reason] of [
      ["no JSON", "is not a job record"],
      ['{"version":1}', "is not a job record (command is missing or wrong)"],
      ['{"version":2}', "is in format 2 of a newer svc, but this version reads format 1"],
    ] as const) {
      const { stderr } = await svc(run);
      const id = /^(job_\w+): map-clients/.exec(stderr)![1]!;
      const record = join(jobs, id, "job.json");
      await writeFile(record, content);
      reasons[id] = `${record} ${reason}`;
      const { exit, stderr: output } = await svc(`router jobs show ${id}`);
      const hint = content.includes("2")
        ? "To read it, install that version of svc."
        : `Run the command of the job again: rows that are sent twice change nothing. Then remove ${join(jobs, id)}.`;
      assert.deepEqual(
        [exit, output.split("\n").slice(0, 2)],
        [1, [`error: Cannot read ${id}: ${record} ${reason}. Nothing was changed.`, `  ${hint}`]],
      );
    }
    await svc(run);
    const { stdout, stderr } = await svc("router jobs list --json=id,status,stopped_because");
    const jobList: { id: string; status: string; stopped_because: string | null }[] = JSON.parse(stdout);
    const byId = Object.fromEntries(jobList.map(({ id, stopped_because }) => [id, stopped_because]));
    const [good] = jobList.filter(({ status }) => status === "done");
    assert.deepEqual(byId, { ...reasons, [good!.id]: null });
    const statuses = jobList.map(({ status }) => status).sort();
    assert.deepEqual(statuses, ["damaged", "damaged", "done", "newer"]);
    for (const [id, reason] of Object.entries(reasons))
      assert.ok(stderr.includes(`warning: ${id}: ${reason}\n`), stderr);
    const ada = simulateUser(["Job", `${downKey}${enterKey}`]);
    const chosen = await svc("router jobs show --json=id", ada);
    assert.deepEqual(JSON.parse(chosen.stdout), { id: good!.id }, "only intact jobs can be chosen");
  });

  it("rejects a copied job folder under the name of the copy", async (t) => {
    const { svc, jobs } = await createBulkFixture(t, createNumberedIds(6), failSecondCall);
    await svc(`${run} --retries 0`);
    const [id] = await readdir(jobs);
    await cp(join(jobs, id!), join(jobs, "job_copy"), { recursive: true });
    const { exit, stderr } = await svc("router jobs resume job_copy");
    assert.equal(exit, 1);
    assert.match(
      stderr,
      new RegExp(`^error: Cannot read job_copy: .*job.json is the record of ${id}\\. Nothing was changed`),
    );
  });

  it("skips finished jobs with resume --last", async (t) => {
    const { svc } = await createBulkFixture(t, createNumberedIds(6), failSecondCall);
    const stopped = /^(job_\w+): map-clients/.exec((await svc(`${run} --retries 0`)).stderr)?.[1];
    const wall = { ...systemWallClock, now: () => Date.parse("2099-01-01T00:00:00Z") };
    const newest = /^(job_\w+): map-clients/.exec((await svc(run, { wall })).stderr)?.[1];
    const result = await svc("router jobs resume --last");
    assert.deepEqual([result.exit, result.stdout], [0, "Mapped 6 client IDs to eu-1\n"]);
    assert.ok(result.stderr.includes(`${stopped}: `), result.stderr);
    assert.deepEqual(await svc("router jobs resume --last"), {
      exit: 0,
      stdout: "",
      stderr: `Nothing to resume: all jobs are finished (newest: ${newest})\n`,
    });
  });

  it("prints a resume command with the target and without secrets", async (t) => {
    const { svc, service, jobs } = await createBulkFixture(t, createNumberedIds(6), failSecondCall);
    const env = { SVC_BASE_URL: undefined, SVC_CLUSTER_KEY: "very-secret" };
    const result = await svc(`${run} --retries 0 --base-url ${service.url}`, { env });
    const line = /Resume it with: svc (.*)\n/.exec(result.stderr)?.[1] ?? "";
    assert.match(line, /^router jobs resume job_\w+ --base-url http:\/\/127/);
    const { exit, stderr } = await svc("router jobs resume --last", { env });
    assert.deepEqual(
      [exit, stderr],
      [2, `error: No service address is configured. The job sends to ${service.url}.\n  try: svc ${line}\n`],
    );
    assert.deepEqual((await svc(line, { env })).exit, 0);
    const jobFile = await readFile(join(await findOnlyJob(jobs), "job.json"), "utf8");
    assert.ok(
      jobFile.includes(service.url) && !jobFile.includes("very-secret") && !result.stderr.includes("very-secret"),
    );
  });

  it("rejects a resume against another service or with a changed file", async (t) => {
    const { svc, listRequests, write } = await createBulkFixture(t, createNumberedIds(6), failSecondCall);
    const otherService = await startBulkService(t);
    await svc(`${run} --retries 0`);
    const elsewhere = await svc("router jobs resume --last", { env: { SVC_BASE_URL: otherService.url } });
    assert.match(elsewhere.stderr, /The target has changed: .* instead of /);
    await write("rows.txt", createNumberedIds(7));
    const changed = await svc("router jobs resume --last");
    assert.match(changed.stderr, /rows\.txt has changed \(/);
    assert.deepEqual([elsewhere.exit, changed.exit, listRequests().length, otherService.calls.length], [2, 2, 2, 0]);
  });

  it("resumes with a moved file at its new path", async (t) => {
    const { svc, listRequests, cwd, write } = await createBulkFixture(t, createNumberedIds(6), failSecondCall);
    await svc(`${run} --retries 0`);
    const before = listRequests().flat();
    await rename(join(cwd, "rows.txt"), join(cwd, "moved.txt"));
    const resumeResult = await svc("router jobs resume --last");
    assert.equal(resumeResult.exit, 2);
    assert.match(
      resumeResult.stderr,
      /no such file\n {2}If the file was moved, use its new path: svc router jobs resume job_\w+ FILE\n/,
    );
    await write("other.txt", createNumberedIds(7));
    const otherResult = await svc("router jobs resume --last other.txt");
    assert.deepEqual([otherResult.exit, listRequests().flat()], [2, before]);
    assert.match(otherResult.stderr, /other\.txt has changed \(/);
    const result = await svc("router jobs resume job_x --last");
    assert.deepEqual([result.exit, result.stderr.split("\n")[0]], [2, "error: <job> cannot be used with --last"]);
    const { exit, stdout, stderr } = await svc("router jobs resume --last moved.txt");
    assert.deepEqual([exit, stdout], [0, "Mapped 6 client IDs to eu-1\n"], stderr);
  });

  it("runs a finished job only once", async (t) => {
    const { svc, listRequests } = await createBulkFixture(t, createNumberedIds(2));
    await svc(run);
    const { exit, stderr } = await svc("router jobs resume --last");
    assert.deepEqual([exit, listRequests().length], [0, 1]);
    const [, id = ""] = /^Nothing to resume: all jobs are finished \(newest: (job_\w+)\)$/m.exec(stderr) ?? [];
    assert.deepEqual(await svc(`router jobs resume ${id}`), {
      exit: 0,
      stdout: "",
      stderr: `${id} is already finished\n`,
    });
  });

  it("allows one process per job and takes over from a dead process", async (t) => {
    const { svc, jobs } = await createBulkFixture(t, createNumberedIds(6), failSecondCall);
    await svc(`${run} --retries 0`);
    const lock = join(await findOnlyJob(jobs), "lock");
    const heldLock = { id: "x", pid: process.ppid, ...(await identifyMachine()) };
    await writeFile(lock, JSON.stringify(heldLock));
    const busy = await svc("router jobs resume --last");
    assert.equal(busy.exit, 1);
    assert.match(busy.stderr, /Job job_\w+ is already running in another process/);
    assert.equal(JSON.parse((await svc("router jobs show --last --json")).stdout).status, "running");
    await writeFile(lock, JSON.stringify({ ...heldLock, pid: 2 ** 22 + 1 }));
    assert.equal((await svc("router jobs resume --last")).exit, 0);
    assert.deepEqual((await readdir(await findOnlyJob(jobs))).sort(), ["job.json", "job.log", "results.csv"]);
  });

  it("prunes only old successful jobs", async (t) => {
    const day = 86_400_000;
    let now = Date.parse("2031-01-02T03:04:05Z");
    const wall = { ...systemWallClock, now: () => now };
    let isDown = false;
    const { svc, jobs, write } = await createBulkFixture(t, createNumberedIds(2), () =>
      isDown ? { status: 503 } : undefined,
    );
    await svc(run, { wall });
    await write("wrong.txt", ["a", "b b"]);
    await svc("router map-clients wrong.txt --cluster eu-1 --skip-invalid", { wall });
    isDown = true;
    await svc(`${run} --retries 0`, { wall });
    isDown = false;
    now += 29 * day;
    await svc(run, { wall });
    const listJobFiles = async () => {
      const { stdout } = await svc("router jobs list --json=status,created_at", { wall });
      return (JSON.parse(stdout) as { status: string; created_at: string }[])
        .map(({ status, created_at }) => `${status} ${created_at.slice(0, 10)}`)
        .sort();
    };
    const all = ["done 2031-01-02", "done 2031-01-31", "interrupted 2031-01-02", "partial 2031-01-02"];
    const early = await svc("router jobs prune", { wall });
    assert.deepEqual(
      [early.exit, early.stdout, early.stderr, await listJobFiles()],
      [0, "", "No jobs to remove\n", all],
    );
    now += day;
    const result = await svc("router jobs prune --dry-run --json=command,status,rows,finished_at", { wall });
    const removableJob = { command: "map-clients", status: "done", rows: 2, finished_at: "2031-01-02T03:04:05Z" };
    assert.deepEqual(
      [JSON.parse(result.stdout), result.stderr, await listJobFiles()],
      [[removableJob], "1 would be removed\n", all],
    );
    const pruned = await svc("router jobs prune --json=command,status,rows,finished_at", { wall });
    assert.deepEqual(
      [JSON.parse(pruned.stdout), pruned.stderr, await listJobFiles()],
      [[removableJob], "Removed 1\n", all.slice(1)],
    );
    assert.equal((await readdir(jobs)).length, 3);
    await svc("router jobs prune --partial --older-than 0s", { wall });
    assert.deepEqual(await listJobFiles(), ["interrupted 2031-01-02"]);
  });

  it("retains files of other users in a removed job folder", async (t) => {
    const { svc, jobs } = await createBulkFixture(t, ["a"]);
    await svc(run);
    const folder = await findOnlyJob(jobs);
    await writeFile(join(folder, "notes.txt"), "mine");
    await mkdir(join(folder, "more"));
    assert.equal((await svc("router jobs prune --older-than 0s")).exit, 0);
    assert.deepEqual((await readdir(folder)).sort(), ["more", "notes.txt"]);
    assert.equal((await svc("router jobs list")).stderr, "No jobs. To start one: svc router map-emails FILE\n");
  });

  it("restricts job files to their owner", async (t) => {
    const { svc, jobs } = await createBulkFixture(t, ["a", "b b"]);
    await svc(`${run} --skip-invalid`);
    const folder = await findOnlyJob(jobs);
    const modes = await Promise.all(
      [folder, ...["job.json", "job.log", "results.csv"].map((name) => join(folder, name))].map(
        async (path) => (await stat(path)).mode & 0o777,
      ),
    );
    assert.deepEqual(modes, [0o700, 0o600, 0o600, 0o600]);
  });

  it("reports an unknown job as not found", async (t) => {
    const { svc } = await createBulkFixture(t, []);
    for (const [argv, exit, message] of [
      ["router jobs show job_nope", 5, /Job job_nope not found./],
      ["router jobs show ../../etc", 5, /Job \S+ not found/],
      ["router jobs resume --last", 5, /No jobs found\./],
      ["router jobs show", 2, /<job> or --last is required/],
    ] as const) {
      const result = await svc(argv);
      assert.match(result.stderr, message);
      assert.equal(result.exit, exit);
    }
    assert.deepEqual(await svc("router jobs list"), {
      exit: 0,
      stdout: "",
      stderr: "No jobs. To start one: svc router map-emails FILE\n",
    });
  });

  it("prints results in every format, or all rows on request", async (t) => {
    const { svc } = await createBulkFixture(t, ["a", "b b", "c"]);
    await svc(`${run} --skip-invalid --results all`);
    const message = "not a valid client ID: it contains spaces";
    const results = (format: string) =>
      svc(`router jobs results --last --format ${format}`).then(({ stdout }) => stdout);
    assert.equal(
      await results("csv"),
      `row,input,status,code,message,moved_from\r\n2,b b,invalid,invalid_identifier,${message},\r\n1,a,ok,,,\r\n3,c,ok,,,\r\n`,
    );
    assert.deepEqual(JSON.parse(await results("json"))[0], {
      row: 2,
      input: "b b",
      status: "invalid",
      code: "invalid_identifier",
      message,
      moved_from: "",
    });
    assert.equal((await results("ndjson")).trim().split("\n").length, 3);
    assert.equal((await svc("router jobs results --last --status ok --fields input")).stdout, "a\nc\n");
    assert.equal((await svc("router jobs results --last --status failed --json")).stdout, "[]\n");
  });

  it("stores and reports jobs in another folder if the default folder is not writable", async (t) => {
    const { svc, cwd } = await createBulkFixture(t, ["a"]);
    await mkdir(join(cwd, "blocked"));
    await writeFile(join(cwd, "blocked", "jobs"), "a file in the way");
    const { exit, stderr } = await svc(run, { env: { SVC_STATE_DIR: join(cwd, "blocked") } });
    assert.equal(exit, 0);
    const state = /To resume it: export SVC_STATE_DIR=(\S+)\n/.exec(stderr)?.[1] ?? "";
    const result = await svc("router jobs list --json=status", { env: { SVC_STATE_DIR: state } });
    assert.deepEqual(JSON.parse(result.stdout), [{ status: "done" }]);
  });
});

const findOnlyJob = async (jobs: string): Promise<string> => join(jobs, (await readdir(jobs))[0]!);
