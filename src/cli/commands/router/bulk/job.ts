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
import { createMoveLookup, createVerification, listMoves } from "./lookup.ts";
import type { JobProgress } from "./progress.ts";
import { type BatchResult, createSender } from "./send.ts";
import type { BulkJobKind } from "./work.ts";

const emptyResult: BatchResult = { moved: 0, rejected: [] };
const noMoves: ReadonlyMap<number, string> = new Map();
const noVerification = { mismatches: noMoves, unverified: 0 };

export interface RowSummary {
  readonly firstInvalid: InvalidRow | undefined;
  readonly distinct: number | null;
  /** Number of rows that a look-up found in the right cluster. Null without a look-up. */
  readonly verified: number | null;
  readonly unverified: number;
}

export interface JobRun {
  readonly record: JobRecord;
  readonly source: InputSource;
  readonly work: BulkJobKind;
  readonly job: OpenJob;
  readonly progress: JobProgress;
  readonly concurrency: number;
}

/**
 * Performs the rest of a job: rows → identifiers → batches → requests. Finished batches are logged as they complete.
 * Resolves with the results when every row is processed. Throws if the job stops earlier.
 */
export async function runJob(run: JobRun, context: Context): Promise<RowSummary> {
  const { record, source, work, job, progress, concurrency } = run;
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
  const send = await createSender(
    {
      jobId: record.id,
      work,
      scope: record.scope,
      concurrency,
      // A request may be aborted, because the resumed job resends it.
      forceSignal: context.forceSignal,
      onRetry: (retry) => progress.reportRetry(retry),
    },
    context,
  );
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
    const earlierMoves = job.unfinishedMoves.get(batch.index);
    const movedFrom = await lookUpMoves?.(batch, earlierMoves);
    if (movedFrom && movedFrom.size > 0) await job.recordMoves(batch.index, listMoves(batch, movedFrom));
    const { moved, rejected: rejectedRanges } = batch.count === 0 ? emptyResult : await send(batch);
    const refusedRows = rejectedRanges.reduce((sum, { from, to }) => sum + to - from, 0);
    // An error before the first success is not caused by these rows.
    if (refusedRows > 0 && refusedRows === batch.count && job.counts.rows === 0) throw rejectedRanges[0]!.error;
    const { mismatches, unverified } = (await verify?.(batch, rejectedRanges)) ?? noVerification;
    const failedCount = refusedRows + mismatches.size;
    await job.finish(
      {
        batch: batch.index,
        rows: batch.count - failedCount,
        invalid: batch.invalid.length,
        failed: failedCount,
        // The service does not count identifiers again that an earlier run moved.
        moved: (earlierMoves && movedFrom ? undefined : moved) ?? movedFrom?.size ?? null,
        ...(batch.digest === undefined ? {} : { digest: batch.digest }),
        ...(unverified > 0 && { unverified }),
      },
      formatResultLines(
        batch,
        { rejected: rejectedRanges, mismatches, movedFrom: movedFrom ?? noMoves },
        record.results,
      ),
    );
    progress.add(batch.count + batch.invalid.length);
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
    return {
      firstInvalid,
      verified: verify ? job.counts.rows - job.unverified : null,
      unverified: job.unverified,
      distinct: counter ? counter.count : record.input.distinct,
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
