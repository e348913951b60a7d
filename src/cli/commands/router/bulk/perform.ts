import { pluralize } from "../../../../base/text.ts";
import type { Lock } from "../../../../files/lock.ts";
import type { Context } from "../../../command.ts";
import { setOutput } from "../../../output/ci.ts";
import { writeOutput } from "../../../output/file.ts";
import { CommandFailedError, type FailureKind, PartialFailureError, UsageError } from "../../../process/failure.ts";
import type { Host } from "../../../process/host.ts";
import { redactSentSecrets } from "../../../process/redact.ts";
import { formatCommandLine } from "../../../process/shell-words.ts";
import { InputError } from "./input/format.ts";
import type { InputSource } from "./input/source.ts";
import { type BulkJobKind, findBulkJobKind, formatOutcome } from "./job-kinds.ts";
import { type OpenJob, openJob } from "./log/job-log.ts";
import { getLockPath, type JobRecord, lockJob, removeJob } from "./log/jobs.ts";
import { getResultsPath } from "./log/result-lines.ts";
import { readErrorRows } from "./log/results.ts";
import { countProcessedRows, writeReport } from "./report.ts";
import { runJob } from "./run-job.ts";

interface JobAttempt {
  readonly folder: string;
  readonly record: JobRecord;
  readonly source: InputSource;
  readonly isResumed: boolean;
}

/** Runs a job from where it begins or stopped. Prints its ID first and, at every stop, the command to continue. */
export async function performJob(attempt: JobAttempt, context: Context): Promise<FailureKind | undefined> {
  const { folder, record } = attempt;
  const lock = await requireLock(folder, record, context.host);
  const { job, distinct, stop } = await attemptJob(attempt, context);
  // A job that was rejected before anything was sent is not stored.
  const isDiscarded = stop?.error instanceof UsageError && job?.finished.count === 0;
  try {
    if (stop && !isDiscarded && !context.globals.json) await warnStopped(record, context);
    await job?.close();
    const end =
      job && !isDiscarded
        ? { ...job.counts, distinct, stoppedBecause: stop && describeStop(stop.error, context) }
        : undefined;
    await writeResultFiles(folder, record, end, stop !== undefined, context);
  } finally {
    await lock.release();
    if (isDiscarded) await removeJob(folder);
  }
  if (isDiscarded) throw stop.error;
  if (stop) throw createStopError(stop.error, record, job?.counts.rows ?? 0, context);
  return job.counts.invalid + job.counts.failed > 0 ? "partial" : undefined;
}

async function requireLock(folder: string, { id }: JobRecord, host: Host): Promise<Lock> {
  const lock = await lockJob(folder, host);
  if (lock) return lock;
  throw new CommandFailedError("failed", "job_running", `Job ${id} is already running in another process.`, {
    hint: `If no process runs it, remove ${getLockPath(folder)}.`,
  });
}

/** Runs the job and shows its results. Never throws, so that the caller reports and unlocks a job that stopped, too. */
async function attemptJob({ folder, record, source, isResumed }: JobAttempt, context: Context) {
  const { host, output, shutdown } = context;
  const ignoreForcedExit = shutdown.onForcedExit(() => void warnStopped(record, context));
  let job: OpenJob | undefined;
  let { distinct } = record.input;
  try {
    job = await openJob(folder, { wall: host.wall, report: (message) => output.warn(`warning: ${message}`) });
    await job.note("started");
    await announceJob(record, source, job, context);
    await setOutput(host, "job_id", record.id);
    const work = findBulkJobKind(record.command)!;
    const result = await runJob({ record, work, job, isResumed }, source, context).catch(async (error: unknown) => {
      // If the log cannot be written, its error is already reported or less important than this one.
      await job!.note("stopped", describeStop(error, context)).catch(() => {});
      throw error;
    });
    await job.note("finished");
    ignoreForcedExit();
    distinct = result.distinct;
    await showResult(folder, work, record, job, result, context);
    return { job, distinct, stop: undefined };
  } catch (error) {
    ignoreForcedExit();
    return { job, distinct, stop: { error } };
  }
}

const warnStopped = ({ id, resume }: JobRecord, { output }: Context): Promise<void> =>
  output.warn(`${id} stopped. Resume it with: ${formatCommandLine(resume)}`);

/** Creates the error of a job that stopped, with the number of rows that are done. */
function createStopError(error: unknown, { id, resume }: JobRecord, doneRows: number, { globals }: Context): unknown {
  const stopError = addDoneRows(error, doneRows);
  if (!globals.json) return stopError;
  const summary = `${id} stopped after ${pluralize(doneRows, "row")}`;
  return new PartialFailureError(stopError, [summary], { next: resume, repeatable: true });
}

/** The log and the report must not contain a secret that the service has echoed. */
const describeStop = (error: unknown, { host }: Context): string =>
  redactSentSecrets(host, (error as Error)?.message ?? String(error));

async function announceJob(
  { id, command, input, target }: JobRecord,
  source: InputSource,
  job: OpenJob,
  { output, globals }: Context,
): Promise<void> {
  if (globals.quiet) return;
  const done = countProcessedRows(job);
  const total = input.rows;
  if (output.format === "ndjson") {
    await output.printDiagnosticDocument({ type: "version", ui: "1.0" });
    return output.printDiagnosticDocument({ type: "job", id, command, total, done });
  }
  const rows = total === null ? `rows from ${source.name}` : pluralize(total, "row");
  await output.note(`${id}: ${command}, ${rows}${done > 0 ? `, ${done} already done` : ""}, to ${target}`);
}

/** Adds the number of rows that are done to an error of the input. */
function addDoneRows(error: unknown, doneRows: number): unknown {
  if (!(error instanceof InputError) || doneRows === 0) return error;
  const message = `${error.message.replace(/\.$/, "")}. ${pluralize(doneRows, "row before it is", "rows before it are")} done.`;
  return new CommandFailedError("partial", error.code, message, { hint: error.hint, cause: error });
}

/**
 * Writes the report and the rejected rows. A failure of one file does not prevent the other. If the job stopped, its
 * error is thrown, and errors here are only reported.
 */
async function writeResultFiles(
  folder: string,
  record: JobRecord,
  end: Parameters<typeof writeReport>[3] | undefined,
  isStopped: boolean,
  context: Context,
): Promise<void> {
  const { errors_out: errorsOut, id, report } = record;
  const explainFailure = (code: string, hint: string) => (cause: Error) => {
    if (isStopped) return context.output.warn(`warning: ${cause.message}`);
    throw new CommandFailedError("failed", code, cause.message, { hint, cause });
  };
  try {
    if (report !== null && end) {
      const hint = `The job is finished. See svc router jobs show ${id}`;
      await writeReport(report, folder, record, end, context).catch(explainFailure("report", hint));
    }
  } finally {
    if (errorsOut !== null) {
      const hint = `The rows are in ${getResultsPath(folder)}.`;
      const rows = readErrorRows(folder);
      await writeOutput(context.host, errorsOut, rows, 0o600).catch(explainFailure("errors_out", hint));
    }
  }
}

/** Prints the results for `--json`, or the last lines. Counts cover all runs of the job. */
async function showResult(
  folder: string,
  work: BulkJobKind,
  record: JobRecord,
  job: OpenJob,
  { distinct, verified, unverified, firstInvalid, retries }: Awaited<ReturnType<typeof runJob>>,
  { output }: Context,
): Promise<void> {
  const { id: job_id, command, scope, shard, input } = record;
  const { rows, moved, invalid, failed } = job.counts;
  const cluster = scope.cluster_id!;
  const firstInvalidRow = input.first_invalid_row ?? firstInvalid?.number ?? null;
  const hasResults = invalid + failed > 0 || record.results === "all";
  if (output.format !== "table") {
    const batches = job.finished.count;
    return output.show({
      ...{ job_id, action: command, cluster_id: cluster, rows, distinct, verified, unverified, batches },
      ...{ moved, invalid, failed, retries, first_invalid_row: firstInvalidRow },
      results: hasResults ? getResultsPath(folder) : null,
    });
  }
  // If rows were rejected and rows are repeated, it is unknown which rows are both.
  const confirmed = failed === 0 ? distinct : distinct === rows + failed ? rows : null;
  await output.print(formatOutcome({ ...work, cluster, rows, distinct: confirmed }));
  const isMap = work.action === "map";
  const is = `${verified === 1 ? "is" : "are"} ${isMap ? "mapped" : "not mapped"} to ${cluster}`;
  const notes = [
    verified !== null && `Looked up: ${pluralize(verified, "row")} ${is}`,
    unverified > 0 && `${pluralize(unverified, "row")} cannot be looked up`,
    !isMap &&
      rows > 0 &&
      `Identifiers that are not mapped to ${cluster} were ignored; the service does not report how many`,
    shard && rows + invalid + failed === 0 && `Share ${shard.index}/${shard.of} has no rows`,
    moved && `${moved} of them were previously mapped to another cluster`,
    invalid > 0 && `${pluralize(invalid, "row")} skipped, the first at row ${firstInvalidRow}`,
    failed > 0 &&
      `${pluralize(failed, "row")} rejected by the service${verified === null ? "" : ", or not mapped as requested"}`,
    hasResults && `See svc router jobs results ${job_id}`,
  ];
  for (const note of notes) if (note) await output.note(note);
}
