import { runConcurrently } from "../../../../base/run-concurrently.ts";
import { pluralize } from "../../../../base/text.ts";
import type { Context } from "../../../command.ts";
import { CommandFailedError, UsageError } from "../../../process/failure.ts";
import { parseErrorLimit } from "./flags.ts";
import { groupIntoBatches, type InvalidRow, type RowBatch } from "./input/batches.ts";
import type { InputSource } from "./input/bytes.ts";
import { IdentifierCounter, selectShare } from "./input/distinct.ts";
import { isHeading } from "./input/format.ts";
import { type IdentifierKind, InputError } from "./input/identifiers.ts";
import { readRows } from "./input/rows.ts";
import type { JobRecord } from "./log/jobs.ts";
import type { OpenJob } from "./log/open-job.ts";
import { formatResultLines } from "./log/results.ts";
import { createMoveLookup, createVerification } from "./lookup.ts";
import type { createJobProgress, RetryNotice } from "./progress.ts";
import { type BatchResult, createSender } from "./send.ts";
import type { BulkJobKind } from "./work.ts";

const emptyResult: BatchResult = { moved: 0, rejected: [] };
const noMoves: ReadonlyMap<number, string> = new Map();
const noVerification = { mismatches: noMoves, unverified: 0 };

interface JobRun {
  readonly record: JobRecord;
  readonly source: InputSource;
  readonly work: BulkJobKind;
  readonly job: OpenJob;
  readonly progress: ReturnType<typeof createJobProgress>;
  readonly concurrency: number;
}

export type RowSummary = Awaited<ReturnType<typeof runJob>>;

/**
 * Performs the rest of a job: rows → identifiers → batches → requests. Finished batches are logged as they complete.
 * Resolves with the results when every row is processed. Throws if the job stops earlier.
 */
export async function runJob({ record, source, work, job, progress, concurrency }: JobRun, context: Context) {
  const { signal, output } = context;
  const onStop = () => {
    if (signal.reason === "SIGTERM") return;
    void output.note(
      `Stopping after ${concurrency === 1 ? "the batch" : `at most ${concurrency} batches`} in flight; press Ctrl-C again to stop now`,
    );
  };
  if (signal.aborted) onStop();
  else signal.addEventListener("abort", onStop, { once: true });
  const limit =
    record.max_errors === null ? undefined : parseErrorLimit(record.max_errors, record.input.rows ?? undefined);
  const onRetry = (retry: RetryNotice) => progress.reportRetry(retry);
  const send = await createSender(record, work, { concurrency, onRetry }, context);
  const kind = work.getKind(record);
  const lookUpMoves = await createMoveLookup(record, work, context);
  const verify = record.verify ? await createVerification(record, work, context) : undefined;
  // Rows of a pipe that earlier runs sent are not checked again.
  const counter = record.input.path === "-" && job.finished.count === 0 ? new IdentifierCounter(kind) : undefined;
  let firstInvalid: InvalidRow | undefined;

  async function perform(batch: RowBatch): Promise<void> {
    if (batch.invalid.length > 0) {
      firstInvalid ??= batch.invalid[0];
      if (!record.skip_invalid && !limit) throw createInvalidRowError(kind, batch.invalid[0]!);
    }
    const { index, rows: batchRows, digest } = batch;
    const earlierMoves = job.unfinishedMoves.get(index);
    const movedFrom = await lookUpMoves?.(batch, earlierMoves);
    if (movedFrom && movedFrom.size > 0) {
      const moves = [...movedFrom].map(([position, cluster]) => [batchRows[position]!.text, cluster] as const);
      await job.recordMoves(index, moves);
    }
    const { moved, rejected } = batchRows.length === 0 ? emptyResult : await send(batch);
    const rejectedCount = rejected.reduce((sum, { from, to }) => sum + to - from, 0);
    // An error before the first success is not caused by these rows.
    if (rejectedCount > 0 && rejectedCount === batchRows.length && job.counts.rows === 0) throw rejected[0]!.error;
    const { mismatches, unverified } = (await verify?.(batch, rejected)) ?? noVerification;
    const failedCount = rejectedCount + mismatches.size;
    await job.finish(
      {
        batch: index,
        rows: batchRows.length - failedCount,
        invalid: batch.invalid.length,
        failed: failedCount,
        // The service does not count identifiers again that an earlier run moved.
        moved: (earlierMoves && movedFrom ? undefined : moved) ?? movedFrom?.size ?? null,
        ...(digest !== undefined && { digest }),
        ...(unverified > 0 && { unverified }),
      },
      formatResultLines(batch, { rejected, mismatches, movedFrom: movedFrom ?? noMoves }, record.results),
    );
    progress.add(batchRows.length + batch.invalid.length);
    const { rows, invalid, failed } = job.counts;
    const errors = invalid + failed;
    if (limit?.isExceeded(errors, rows + errors)) throw createTooManyErrorsError(errors, limit.text);
  }

  const groups = readRows(source.open(), record);
  const batches = groupIntoBatches(record.shard ? selectShare(groups, record.shard) : groups, {
    size: record.batch_size,
    kind,
    counter,
    finished: job.finished,
    hasRollingDigest: record.input.path === "-",
  });
  try {
    const isDone = await runConcurrently(batches, concurrency, perform, signal);
    // A job without remaining work is finished, even if it was stopped.
    if (!isDone) signal.throwIfAborted();
    if (job.finished.count === 0 && !record.shard) {
      throw new UsageError(`${work.source}: ${source.name} has no rows`);
    }
    const { rows, unverified = 0 } = job.counts;
    return {
      firstInvalid,
      distinct: counter ? counter.count : record.input.distinct,
      /** Number of rows that a look-up found in the right cluster. Null without a look-up. */
      verified: verify ? rows - unverified : null,
      unverified,
    };
  } finally {
    signal.removeEventListener("abort", onStop);
  }
}

const createInvalidRowError = ({ toShown }: IdentifierKind, { number, text, problem }: InvalidRow): Error =>
  new InputError("invalid_row", `Row ${number} (${toShown(text).slice(0, 80)}) is ${problem}.`, {
    hint: isHeading(problem)
      ? undefined
      : "Skip invalid rows with --skip-invalid, and save them with --errors-out FILE.",
  });

const createTooManyErrorsError = (errors: number, limit: string): Error =>
  new CommandFailedError(
    "partial",
    "too_many_errors",
    `${pluralize(errors, "row")} failed, more than --max-errors ${limit} allows.`,
  );
