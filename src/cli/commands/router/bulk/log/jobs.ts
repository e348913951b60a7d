import { mkdir, mkdtemp, readdir, readFile, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import * as z from "zod";
import { toIsoSeconds } from "../../../../../base/clock.ts";
import { createRandomIds } from "../../../../../base/ids.ts";
import { tryParseJson } from "../../../../../base/object.ts";
import { isTemporaryName, writeFileAtomic } from "../../../../../files/atomic-write.ts";
import { makeFolderDurably, systemDisk } from "../../../../../files/disk.ts";
import { makeFolder } from "../../../../../files/folders.ts";
import { isLockRemnant, type Lock } from "../../../../../files/lock.ts";
import type { Context } from "../../../../command.ts";
import { acquireFileLock, isLocked } from "../../../../connection/profiles/private-file.ts";
import { getStateFolder } from "../../../../process/environment.ts";
import type { Host } from "../../../../process/host.ts";
import type { BulkJobKind } from "../job-kinds.ts";
import { describeNewerFormat, JobPlan } from "../plan.ts";
import { createLog, logName, type OpenJob, readJobLog } from "./job-log.ts";

const JobRecord = JobPlan.extend({
  id: z.string(),
  created_at: z.string(),
  errors_out: z.string().nullable(),
  report: z.string().nullable(),
  concurrency: z.int().positive(),
  /** Command line that resumes the job, without `svc`. */
  resume: z.array(z.string()).readonly(),
});
export type JobRecord = Readonly<z.infer<typeof JobRecord>>;

export interface JobRun {
  readonly record: JobRecord;
  readonly work: BulkJobKind;
  readonly job: OpenJob;
  /** Whether an earlier run may have sent some of the remaining batches. */
  readonly isResumed: boolean;
}

/** It was killed, the machine went down, or the log could not be written. */
const unrecordedReason = "The process ended without recording why.";

const idCharacters = "0123456789abcdefghjkmnpqrstvwxyz";

/**
 * Creates an ID such as `job_20310102T030405Z_7f3ak2`, which is unique and sorts by time. The first two characters
 * after the time are its milliseconds, because a script can start several jobs within a second.
 */
export function createJobId({ wall }: Host): string {
  const now = wall.now();
  const ms = new Date(now).getUTCMilliseconds();
  const suffix = `${idCharacters[ms >> 5]}${idCharacters[ms % 32]}${createRandomIds().pick(idCharacters, 4)}`;
  return `job_${toIsoSeconds(now).replace(/[-:]/g, "")}_${suffix}`;
}

export async function createJob(jobs: string, record: JobRecord): Promise<string> {
  const folder = join(jobs, record.id);
  await makeFolderDurably(systemDisk, folder);
  await createLog(systemDisk, folder);
  // A folder without a record is not a job, so the job appears atomically.
  await writeFileAtomic(join(folder, "job.json"), `${JSON.stringify(record, null, 2)}\n`);
  return folder;
}

export const getJobsFolder = (host: Host): string => join(getStateFolder(host.env), "jobs");

/** Returns a writable jobs folder. On a read-only system, it is a temporary folder, which is reported. */
export async function findWritableJobsFolder({ host, output }: Context): Promise<string> {
  let folder: string | undefined;
  try {
    folder = getJobsFolder(host);
    await makeFolder(folder);
    return folder;
  } catch (error) {
    const state = await mkdtemp(join(tmpdir(), "svc-state-"));
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = folder === undefined ? message : `Cannot write to ${folder} (${code}).`;
    await output.warn(`warning: ${reason} The job is stored in ${state}`);
    await output.warn(`To resume it: export SVC_STATE_DIR=${state}`);
    const fallbackFolder = join(state, "jobs");
    await mkdir(fallbackFolder, { mode: 0o700 });
    return fallbackFolder;
  }
}

export type StoredJob = NonNullable<Awaited<ReturnType<typeof readStoredJob>>>;

export type ListedJob = NonNullable<Awaited<ReturnType<typeof readJob>>>;

/** Reports whether only the ID, the status and the reason of a job are known. */
export const isUnreadable = (job: ListedJob): job is Exclude<ListedJob, StoredJob> => !("record" in job);

/** Lists all jobs of a folder, the newest first. Skips folders without a job record. */
export async function listJobs(host: Host): Promise<ListedJob[]> {
  const names = (await readdir(getJobsFolder(host)).catch(ignoreMissing)) ?? [];
  const jobs = await Promise.all(names.map((name) => readJob(name, host)));
  // The names of the folders are the IDs.
  return jobs.filter((job) => job !== undefined).sort((a, b) => (a.folder < b.folder ? 1 : -1));
}

export async function readJob(id: string, host: Host) {
  const folder = join(getJobsFolder(host), id);
  return readStoredJob(folder, host).catch((error: Error) => {
    const status = error instanceof NewerJobError ? "newer" : "damaged";
    return { id, folder, status, reason: error.message } as const;
  });
}

class NewerJobError extends Error {}

async function readStoredJob(folder: string, host: Host) {
  const path = join(folder, "job.json");
  const text = await readFile(path, "utf8").catch(ignoreMissing);
  if (text === undefined) return undefined;
  const document = tryParseJson(text);
  const { data, error } = JobRecord.safeParse(document);
  if (!data) {
    const newerFormat = describeNewerFormat(document);
    if (newerFormat !== undefined) throw new NewerJobError(`${path} ${newerFormat}`);
    const field = error.issues[0]?.path.join(".");
    throw new Error(`${path} is not a job record${field ? ` (${field} is missing or wrong)` : ""}`);
  }
  const record: JobRecord = data;
  if (record.id !== basename(folder)) throw new Error(`${path} is the record of ${record.id}`);
  const { rows, invalid, failed, moved, finished, last, file } = await readJobLog(folder);
  const isRunning = await isLocked(getLockPath(folder), host, file.path);
  const endStatus = invalid + failed > 0 ? "partial" : "done";
  const status = last?.event === "finished" ? endStatus : isRunning ? "running" : "interrupted";
  const reason = status === "interrupted" && last?.event !== "stopped" ? unrecordedReason : last?.reason;
  const at = last?.at ?? record.created_at;
  return { record, folder, status, batches: finished.count, at, reason, rows, invalid, failed, moved } as const;
}

/** ENOTDIR means that the path is a file. */
function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (!["ENOENT", "ENOTDIR"].includes(error.code ?? "")) throw error;
}

/**
 * Removes a job with its log and results. The record is removed first, because a folder without a record is not a job.
 * Other files stay in the folder.
 */
export async function removeJob(folder: string): Promise<void> {
  await rm(join(folder, "job.json"), { force: true });
  for (const name of (await readdir(folder).catch(ignoreMissing)) ?? [])
    if (isJobFile(name)) await rm(join(folder, name), { force: true });
  await rmdir(folder).catch((error: NodeJS.ErrnoException) => {
    // ENOTDIR means that the path is a link to the folder.
    if (!["ENOTEMPTY", "EEXIST", "ENOENT", "ENOTDIR"].includes(error.code ?? "")) throw error;
  });
}

/** Reports whether a job writes a file of that name: log, results, lock, undo, or remains of them after a crash. */
const isJobFile = (name: string): boolean =>
  [logName, "results.csv", "lock"].includes(name) ||
  /^undo-.*\.txt$/.test(name) ||
  isTemporaryName(name, "job.json") ||
  isLockRemnant(name, "lock");

export const getLockPath = (folder: string): string => join(folder, "lock");

/** Acquires the lock of a job, for one process at a time. Returns undefined if another running process has it. */
export const lockJob = (folder: string, host: Host): Promise<Lock | undefined> =>
  acquireFileLock(getLockPath(folder), host, join(folder, logName));
