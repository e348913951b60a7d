import { pluralize } from "../../../../base/text.ts";
import { formatFsError, isFsError } from "../../../../files/disk.ts";
import type { Context } from "../../../command.ts";
import { writeOutput } from "../../../output/file.ts";
import { setOutput } from "../../../output/github-actions.ts";
import { CommandFailedError, type FailureKind, PartialFailureError, UsageError } from "../../../process/failure.ts";
import { getRemedy } from "../../../process/service-message.ts";
import { formatCommandLine } from "../../../process/shell-words.ts";
import type { InputSource } from "./input/bytes.ts";
import { InputError } from "./input/identifiers.ts";
import { runJob } from "./job.ts";
import { getLockPath, type JobRecord, lockJob, removeJob } from "./log/jobs.ts";
import { OpenJob } from "./log/open-job.ts";
import { getResultsPath, readErrorRows } from "./log/results.ts";
import { createJobProgress } from "./progress.ts";
import { buildJobReport, showReport, writeReport } from "./report-file.ts";
import { findBulkJobKind } from "./work.ts";

const verbs = { map: "mapped", unmap: "removed", offboard: "removed" } as const;

/**
 * Runs a job from its beginning or from where it stopped. Prints its ID first and, at every stop, the command to
 * continue.
 */
export async function performJob(
  folder: string,
  record: JobRecord,
  source: InputSource,
  context: Context,
  { concurrency = record.concurrency, isResumed = false }: { concurrency?: number; isResumed?: boolean } = {},
): Promise<FailureKind | undefined> {
  const { host, output, globals } = context;
  const work = findBulkJobKind(record.command)!;
  const lock = await lockJob(folder, host);
  if (!lock) {
    throw new CommandFailedError("failed", "job_running", `Job ${record.id} is already running in another process.`, {
      hint: `If no process runs it, remove ${getLockPath(folder)}.`,
    });
  }
  let job: OpenJob | undefined;
  // The job was rejected before anything was sent, so it is not stored.
  let isDiscarded = false;
  let stopReason: string | undefined;
  let distinct = record.input.distinct;
  try {
    job = await OpenJob.open(folder, { wall: host.wall, report: (message) => output.warn(`warning: ${message}`) });
    if (isResumed) await job.note("started");
    await announceJob(record, source, job, context);
    await setOutput(host, "job_id", record.id);
    const { rows, invalid, failed } = job.counts;
    const progress = createJobProgress(context, {
      verb: verbs[work.action],
      total: record.input.rows,
      resumedRows: rows + invalid + failed,
    });
    const result = await runJob({ record, source, work, job, progress, concurrency }, context)
      .catch(async (error: unknown) => {
        // If the log cannot be written, its error is already reported or less important than this one.
        await job!.note("stopped", getMessage(error)).catch(() => {});
        throw error;
      })
      .finally(() => progress.end());
    await job.note("finished");
    distinct = result.distinct;
    const report = buildJobReport(record, job, {
      ...result,
      retries: progress.retries,
      results: getResultsPath(folder),
    });
    await showReport(report, work, record.shard, context);
    return report.invalid + report.failed > 0 ? "partial" : undefined;
  } catch (error) {
    stopReason = getMessage(error);
    if (error instanceof UsageError && job?.finished.count === 0) {
      isDiscarded = true;
      throw error;
    }
    if (globals.json) {
      const summary = `${record.id} stopped after ${pluralize(job?.durable.rows ?? 0, "row")}`;
      throw new PartialFailureError(addNextCommand(error, record, job), [summary], {
        next: record.resume,
        repeatable: true,
      });
    }
    await output.warn(`${record.id} stopped. Resume it with: ${formatCommandLine(record.resume)}`);
    throw addNextCommand(error, record, job);
  } finally {
    await job?.close();
    try {
      await copyErrorRows(folder, record, stopReason !== undefined, context);
      if (record.report !== null && job && !isDiscarded) {
        const end = { ...job.durable, distinct, stoppedBecause: stopReason };
        await writeReport(record.report, folder, record, end, context).catch((cause: Error) =>
          output.warn(`warning: ${cause.message}`),
        );
      }
    } finally {
      await lock.release();
      if (isDiscarded) await removeJob(folder);
    }
  }
}

const getMessage = (error: unknown): string => (error as Error)?.message ?? String(error);

async function announceJob(
  record: JobRecord,
  source: InputSource,
  job: OpenJob,
  { output, globals }: Context,
): Promise<void> {
  if (globals.quiet) return;
  const { rows, invalid, failed } = job.counts;
  const before = rows + invalid + failed;
  const total = record.input.rows;
  if (output.format === "ndjson") {
    await output.printDiagnosticDocument({ type: "version", ui: "1.0" });
    return output.printDiagnosticDocument({ type: "job", id: record.id, command: record.command, total, done: before });
  }
  const resumeNote = before > 0 ? `, ${before} already done` : "";
  const input = total === null ? `rows from ${source.name}` : pluralize(total, "row");
  await output.note(`${record.id}: ${record.command}, ${input}${resumeNote}, to ${record.target}`);
}

function addNextCommand(error: unknown, { id, resume: next }: JobRecord, job: OpenJob | undefined): unknown {
  const doneRows = job?.durable.rows ?? 0;
  if (error instanceof InputError && doneRows > 0) {
    const message = `${error.message.replace(/\.$/, "")}. ${pluralize(doneRows, "row before it is", "rows before it are")} done.`;
    return new CommandFailedError("partial", error.code, message, { hint: error.hint, next, cause: error });
  }
  if (error instanceof CommandFailedError && error.next === undefined) {
    const { kind, code, message, hint } = error;
    return new CommandFailedError(kind, code, message, { hint, next, cause: error });
  }
  if (isFsError(error)) {
    return new CommandFailedError("failed", "job_log", `Failed to write the log of ${id}: ${formatFsError(error)}.`, {
      hint: `Done so far: ${pluralize(doneRows, "row")}. ${getRemedy(error)} Then resume the job.`,
      next,
      cause: error,
    });
  }
  return error;
}

/** If the job stopped, its error is thrown. Errors during the copy are reported as well. */
async function copyErrorRows(
  folder: string,
  { errors_out: path }: JobRecord,
  isStopped: boolean,
  { host, output }: Context,
): Promise<void> {
  if (path === null) return;
  await writeOutput(host, path, readErrorRows(folder), 0o600).catch(async (cause: Error) => {
    if (isStopped) return output.warn(`warning: ${cause.message}`);
    throw new CommandFailedError("failed", "errors_out", cause.message, {
      hint: `The rows are in ${getResultsPath(folder)}.`,
      cause,
    });
  });
}
