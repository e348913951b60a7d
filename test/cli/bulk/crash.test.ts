import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { WallClock } from "../../../src/base/clock.ts";
import { createLog, type OpenJob, openJob, readJobLog } from "../../../src/cli/commands/router/bulk/log/job-log.ts";
import { formatResultLine, resultsHeader } from "../../../src/cli/commands/router/bulk/log/result-lines.ts";
import { type Disk, makeFolderDurably } from "../../../src/files/disk.ts";
import { createSeededRandom } from "../../support/files/crashes.ts";
import { DiskCrashedError, ForgetfulDisk, type RandomSource } from "../../support/files/forgetful-disk.ts";

const folder = "/state/jobs/job_1";
const wall: WallClock = { now: () => 0, monotonicNow: () => 0, sleep: async () => {} };

/** The state that was acknowledged as durable: the log, and the number of finished batches. */
interface AcknowledgedWork {
  created: boolean;
  batches: number;
}

const createResults = (batch: number): string =>
  batch % 2 === 0
    ? ""
    : formatResultLine({
        row: batch,
        input: `in ${batch}`,
        status: "failed",
        code: "no",
        message: "refused",
        moved_from: "",
      });

const createBatch = (batch: number) => ({ batch, rows: 10, invalid: 0, failed: batch % 2, moved: 0 });

/** Opens the job. Incomplete writes are expected and not reported. */
async function open(disk: Disk, reports: string[] = []): Promise<OpenJob> {
  const report = async (message: string) => {
    if (!message.includes("an incomplete write")) reports.push(message);
  };
  return openJob(folder, { wall, disk, report });
}

/** Finishes batches, three of them concurrently. */
async function finishBatches(job: OpenJob, from: number, to: number, work: AcknowledgedWork): Promise<void> {
  const batches = Array.from({ length: to - from }, (_, i) => from + i);
  while (batches.length > 0) {
    const group = batches.splice(0, 3);
    await Promise.all(group.map((batch) => job.finish(createBatch(batch), createResults(batch))));
    work.batches = group.at(-1)! + 1;
    await job.note("stopped", "for a while");
  }
}

type Life = (disk: Disk, progress: AcknowledgedWork) => Promise<void>;

const lives: Record<string, Life> = {
  "that runs twice": async (disk, progress) => {
    await makeFolderDurably(disk, folder);
    await createLog(disk, folder);
    progress.created = true;
    for (const [from, to] of [
      [0, 6],
      [6, 12],
    ] as const) {
      const job = await open(disk);
      await finishBatches(job, from, to, progress);
      await job.close();
    }
  },
};

/** Runs a life on a disk that crashes before step `at`, then resumes. Returns true if the life ended earlier. */
async function checkCrashAt(life: Life, at: number, chance: RandomSource): Promise<boolean> {
  const disk = new ForgetfulDisk();
  let steps = 0;
  disk.beforeStep = () => {
    if (steps === at) throw new DiskCrashedError();
    steps += 1;
  };
  const progress: AcknowledgedWork = { created: false, batches: 0 };
  await life(disk, progress).catch((error) => {
    if (!(error instanceof DiskCrashedError)) throw error;
  });
  if (progress.created) await checkResumedJob(disk.crash(chance), progress.batches);
  return steps < at;
}

async function checkResumedJob(disk: ForgetfulDisk, batches: number): Promise<void> {
  const messages: string[] = [];
  const job = await open(disk, messages);
  const found = Array.from({ length: 12 }, (_, batch) => batch).filter((batch) => job.finished.has(batch));
  const all = Array.from({ length: Math.max(batches, found.length) }, (_, batch) => batch);
  assert.deepEqual({ found, told: messages }, { found: all, told: [] });
  assert.deepEqual(job.counts.rows, all.length * 10);
  assert.equal(await readText(disk, "results.csv"), resultsHeader + all.map(createResults).join(""));
  await finishBatches(job, all.length, 12, { created: true, batches: 0 });
  await job.note("finished");
  await job.close();
  const { finished, last } = (await readJobLog(folder, disk))!;
  assert.deepEqual({ count: finished.count, event: last?.event }, { count: 12, event: "finished" });
  const everyRow = Array.from({ length: 12 }, (_, batch) => createResults(batch)).join("");
  assert.equal(await readText(disk, "results.csv"), resultsHeader + everyRow);
}

async function readText(disk: Disk, name: string): Promise<string> {
  const file = await disk.open(join(folder, name), "read");
  const bytes = new Uint8Array(await file.size());
  await file.read(bytes, 0);
  return Buffer.from(bytes).toString();
}

describe("disk that loses unsynced data", () => {
  /** The minimum and the maximum that a disk can lose, and random values in between. */
  const chances = [
    () => () => 0,
    () => () => 0.99,
    ...Array.from({ length: 6 }, (_, seed) => () => createSeededRandom(seed)),
  ];
  for (const [label, life] of Object.entries(lives)) {
    it(`retains every reported batch of a job ${label} after a crash at any step`, async () => {
      let at = 0;
      for (let isOver = false; !isOver; at += 1) {
        for (const [number, chance] of chances.entries()) {
          isOver = await checkCrashAt(life, at, chance()).catch((error) => {
            throw new Error(`dead before step ${at}, chance ${number}: ${error.message}`, { cause: error });
          });
        }
      }
      assert.ok(at > 20, `only ${at} steps`);
    });
  }
});

describe("full disk", () => {
  it("retains the batches that a resume skips and counts no others as stored", async () => {
    const disk = new ForgetfulDisk();
    await makeFolderDurably(disk, folder);
    await createLog(disk, folder);
    const job = await open(disk);
    await finishBatches(job, 0, 3, { created: true, batches: 0 });
    disk.beforeStep = () => {
      throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
    };
    for (const batch of [3, 4])
      await assert.rejects(job.finish(createBatch(batch), createResults(batch)), { code: "ENOSPC" });
    await assert.rejects(job.note("stopped"), { code: "ENOSPC" });
    const counted = job.counts.rows;
    await job.close();
    disk.beforeStep = () => {};
    const { rows } = (await readJobLog(folder, disk))!;
    assert.deepEqual({ counted, rows }, { counted: 30, rows: 30 });
  });
});
