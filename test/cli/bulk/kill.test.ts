import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { buildChildEnvironment } from "../../../src/cli/commands/emulator/exec.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { getSvcPath } from "../../support/shipped.ts";

const createAddress = (i: number) => `person.${i}@kill.example`;
const createInput = (count: number) => Array.from({ length: count }, (_, i) => `${createAddress(i)}\n`).join("");

/** An emulator, and processes of the command line that use it. */
async function createKillableCli(t: TestContext) {
  const folder = await createTestFolder(t);
  const svc = getSvcPath();
  const emulator = await startTestEmulator(t);
  const host = { env: { PATH: process.env.PATH, SVC_STATE_DIR: join(folder, "state") } };
  const env = buildChildEnvironment(emulator, host as unknown as Parameters<typeof buildChildEnvironment>[1]);
  const start = (...argv: string[]): ChildProcess => {
    const child = spawn(process.execPath, [svc, ...argv, "--quiet"], {
      cwd: folder,
      env,
      stdio: ["pipe", "pipe", "pipe"],
    });
    t.after(() => child.kill("SIGKILL"));
    return child;
  };
  const table = async () => {
    const { body } = await emulator.control("GET", "state");
    const { cluster_emails: owners } = (body as { mappings: { cluster_emails: Record<string, string> } }).mappings;
    return Object.entries(owners).sort();
  };
  const seeded = new Set((await table()).map(([hash]) => hash));
  const mapped = async () => (await table()).filter(([hash]) => !seeded.has(hash));
  return { folder, twin: emulator, start, mapped };
}

async function waitForExit(child: ChildProcess): Promise<{ exit: number | null; stdout: string; stderr: string }> {
  const [stdout, stderr] = [child.stdout!, child.stderr!].map((stream) => stream.setEncoding("utf8").toArray());
  const [exit] = await once(child, "close");
  return { exit, stdout: (await stdout!).join(""), stderr: (await stderr!).join("") };
}

/** Waits until the job's log has this many finished batches or the process has ended. */
async function waitForBatches(folder: string, count: number, child: ChildProcess): Promise<string> {
  const jobs = join(folder, "state", "jobs");
  for (;;) {
    const [id] = await readdir(jobs).catch(() => []);
    const log = id && (await readFile(join(jobs, id, "job.log"), "utf8").catch(() => ""));
    if (id && log && log.split('"batch"').length > count) return join(jobs, id);
    if (child.exitCode !== null) throw new Error("the job was over before it was killed");
    await turn();
  }
}

/** The lines of finished batches in the log of a job. */
const readBatches = async (folder: string) =>
  (await readFile(join(folder, "job.log"), "utf8"))
    .split("\n")
    .filter((line) => line.includes('{"batch"'))
    .map((line) => JSON.parse(line.slice(line.indexOf("{"))) as { readonly batch: number });

describe("killed bulk job", () => {
  it("produces the table of an uninterrupted run after a resume", async (t) => {
    const count = 12_000;
    const undisturbed = await createKillableCli(t);
    await writeFile(join(undisturbed.folder, "rows.txt"), createInput(count));
    await waitForExit(undisturbed.start("router", "map-emails", "rows.txt", "--cluster", "us-1"));
    const table = await undisturbed.mapped();
    assert.equal(table.length, count);
    for (const batches of [1, 9, 40]) {
      const disturbed = await createKillableCli(t);
      await writeFile(join(disturbed.folder, "rows.txt"), createInput(count));
      const args = ["rows.txt", "--cluster", "us-1", "--batch-size", "100"];
      const child = disturbed.start("router", "map-emails", ...args);
      const folder = await waitForBatches(disturbed.folder, batches, child);
      child.kill("SIGKILL");
      await once(child, "close");
      const before = (await disturbed.mapped()).length;
      assert.ok(before >= batches * 100 && before < count, `killed in the middle, after ${before} rows`);

      const resumeResult = await waitForExit(disturbed.start("router", "jobs", "resume", "--last"));
      assert.deepEqual(resumeResult, { exit: 0, stdout: `Mapped ${count} e-mails to us-1\n`, stderr: "" });

      assert.deepEqual(await disturbed.mapped(), table);

      const finished = await readBatches(folder);
      assert.deepEqual(
        finished.map(({ batch }) => batch).sort((a, b) => a - b),
        Array.from({ length: count / 100 }, (_, i) => i),
      );
    }
  });

  it("is resumed by only one of two concurrent processes", async (t) => {
    const { folder, start, mapped } = await createKillableCli(t);
    await writeFile(join(folder, "rows.txt"), createInput(30_000));
    const child = start("router", "map-emails", "rows.txt", "--cluster", "us-1", "--batch-size", "50");
    const job = await waitForBatches(folder, 3, child);
    child.kill("SIGKILL");
    await once(child, "close");
    const both = await Promise.all([1, 2].map(() => waitForExit(start("router", "jobs", "resume", "--last"))));
    const [winner, loser] = both.sort((a, b) => b.stdout.length - a.stdout.length);
    assert.deepEqual([winner!.exit, winner!.stdout], [0, "Mapped 30000 e-mails to us-1\n"], winner!.stderr);
    // The second process succeeds if it starts after the job has finished.
    if (loser!.exit !== 0)
      assert.match(
        loser!.stderr,
        /^error: Job job_\w+ is already running in another process.\n {2}If no process runs it, remove /,
      );
    assert.deepEqual(
      (await readBatches(job)).map(({ batch }) => batch).sort((a, b) => a - b),
      Array.from({ length: 600 }, (_, i) => i),
    );
    assert.equal((await mapped()).length, 30_000);
  });

  it("loses only an incomplete log line", async (t) => {
    const { folder, start, mapped } = await createKillableCli(t);
    await writeFile(join(folder, "rows.txt"), createInput(10_000));
    const child = start("router", "map-emails", "rows.txt", "--cluster", "us-1", "--batch-size", "100");
    const job = await waitForBatches(folder, 3, child);
    child.kill("SIGKILL");
    await once(child, "close");
    await appendFile(join(job, "job.log"), '1c2f8a03 00000000 {"batch":99,"rows":10');
    await appendFile(join(job, "results.csv"), '17,half a row,failed,http_422,"half a mess');
    const results = await waitForExit(start("router", "jobs", "results", "--last", "--json"));
    assert.deepEqual([results.exit, results.stdout, results.stderr], [0, "[]\n", ""]);
    const killed = await waitForExit(start("router", "jobs", "show", "--last", "--json=status,stopped_because"));
    assert.deepEqual(JSON.parse(killed.stdout), {
      status: "interrupted",
      stopped_because: "The process ended without recording why.",
    });
    const resumeResult = await waitForExit(start("router", "jobs", "resume", "--last"));
    assert.deepEqual([resumeResult.exit, (await mapped()).length], [0, 10_000]);
    assert.match(resumeResult.stderr, /^warning: .*job\.log ends with an incomplete write, which was not acknowledged/);
    assert.equal(await readFile(join(job, "results.csv"), "utf8"), "row,input,status,code,message,moved_from\r\n");
    const result = await waitForExit(start("router", "jobs", "show", "--last", "--json=status,batches"));
    assert.deepEqual(JSON.parse(result.stdout), { status: "done", batches: 100 });
  });

  it("resumes a pipe only with the same rows", async (t) => {
    const { folder, start, mapped } = await createKillableCli(t);
    const child = start("router", "map-emails", "-", "--cluster", "us-1", "--batch-size", "100");
    child.stdin!.on("error", () => {});
    child.stdin!.write(createInput(20_000));
    await waitForBatches(folder, 20, child);
    child.kill("SIGKILL");
    await once(child, "close");

    const nothing = await waitForExit(start("router", "jobs", "resume", "--last"));
    assert.equal(nothing.exit, 2);
    assert.match(nothing.stderr, /This job read a pipe\. Pipe the same rows again, with - as the file/);
    const otherResume = start("router", "jobs", "resume", "--last", "-");
    otherResume.stdin!.on("error", () => {});
    otherResume.stdin!.end(createInput(20_000).replace("person.5@", "somebody@"));
    const result = await waitForExit(otherResume);
    assert.equal(result.exit, 2);
    assert.match(result.stderr, /The rows differ from those that this job started with: finished rows have changed\./);

    const again = start("router", "jobs", "resume", "--last", "-");
    again.stdin!.end(createInput(20_000));
    assert.deepEqual((await waitForExit(again)).stdout, "Mapped 20000 rows to us-1\n");
    assert.equal((await mapped()).length, 20_000);
  });
});
