import { runConcurrently } from "../../../../base/concurrency.ts";
import { pluralize } from "../../../../base/text.ts";
import type { Context } from "../../../command.ts";
import { CommandFailedError, UsageError } from "../../../process/failure.ts";
import type { IdentifierKind } from "./identifiers.ts";
import { groupIntoBatches, IdentifierCounter, type InvalidRow, type RowBatch } from "./input/batches.ts";
import { InputError } from "./input/format.ts";
import { readRows } from "./input/rows.ts";
import { type InputSource, readFingerprint, trackFingerprint } from "./input/source.ts";
import type { JobRun } from "./log/jobs.ts";
import { formatResultLines } from "./log/result-lines.ts";
import { createLookup, recordMoves, requireLookup, verifyRows } from "./lookup.ts";
import { parseErrorLimit, requireUnchangedPlan } from "./plan.ts";
import { createJobProgress, type JobProgress } from "./report.ts";
import { createResult, openSender } from "./send.ts";

/**
 * Performs the rest of a job: rows → identifiers → batches → requests. Finished batches are logged as they complete.
 * Resolves with the results when every row is processed. Throws if the job stops earlier.
 */
export async function runJob(run: JobRun, source: InputSource, context: Context) {
  const { record, work, job } = run;
  const { signal } = context;
  const kind = work.getKind(record);
  const isPipe = record.input.path === "-";
  // Rows of a pipe that earlier runs sent are not checked again.
  const counter = isPipe && job.finished.count === 0 ? new IdentifierCounter(kind) : undefined;
  const progress = createJobProgress(record, job, context);
  const performBatch = await createPerformer(run, progress, context);
  let firstInvalid: InvalidRow | undefined;
  const requireUnchanged = (fingerprint: { readonly bytes: number; readonly sha256: string }) => {
    if (!isPipe) requireUnchangedPlan(record, { target: record.target, ...fingerprint });
  };
  async function* readSource() {
    const { read, getFingerprint } = trackFingerprint(source.open());
    yield* read();
    requireUnchanged(getFingerprint());
  }
  const rows = readRows(readSource(), record);
  const batches = groupIntoBatches(rows, { plan: record, kind, counter, finished: job.finished });
  const stopListening = announceStop(record.concurrency, context);
  try {
    const isDone = await runConcurrently(
      batches,
      record.concurrency,
      (batch) => {
        firstInvalid ??= batch.invalid[0];
        return performBatch(batch);
      },
      signal,
    );
    // A job without remaining work is finished, even if it was stopped.
    if (!isDone) signal.throwIfAborted();
  } catch (error) {
    // The rows of a file were valid before the job. One that is invalid now is a sign of a change.
    if (error instanceof InputError && !isPipe) requireUnchanged(await readFingerprint(source));
    throw error;
  } finally {
    stopListening();
    await progress.end();
  }
  if (job.finished.count === 0 && !record.shard) throw new UsageError(`${work.source}: ${source.name} has no rows`);
  const { unverified = 0 } = job.counts;
  return {
    firstInvalid,
    distinct: counter ? counter.count : record.input.distinct,
    /** Number of rows that a look-up found in the right cluster. Null without a look-up. */
    verified: record.verify ? job.counts.rows - unverified : null,
    unverified,
    retries: progress.retries,
  };
}

/** Announces what Ctrl-C waits for. Returns a function that ends it. */
function announceStop(concurrency: number, { signal, output }: Context): () => void {
  const onStop = () => {
    if (signal.reason === "SIGTERM") return;
    const batches = concurrency === 1 ? "the batch" : `at most ${concurrency} batches`;
    void output.note(`Stopping after ${batches} in flight; press Ctrl-C again to stop now`);
  };
  if (signal.aborted) onStop();
  else signal.addEventListener("abort", onStop, { once: true });
  return () => signal.removeEventListener("abort", onStop);
}

/** Creates a function that sends a batch, looks up its identifiers before and after, and logs the outcome. */
async function createPerformer(run: JobRun, progress: JobProgress, context: Context) {
  const { record, work, job } = run;
  const { skip_invalid: skipsInvalid, max_errors: maxErrors, verify, input } = record;
  const { toValue, toShown } = work.getKind(record);
  const isExceeded = maxErrors === null ? undefined : parseErrorLimit(maxErrors, input.rows ?? undefined);
  const send = await openSender(run, progress, context);
  const recordsMoves = work.action === "map" && record.results === "all";
  const findClusters = verify
    ? await requireLookup(work, context)
    : recordsMoves
      ? await createLookup(work, context)
      : undefined;
  let isAccepted = job.counts.rows > 0;

  return async (batch: RowBatch): Promise<void> => {
    const { index, rows, invalid, digest } = batch;
    if (invalid[0] && !skipsInvalid && !isExceeded) throw createInvalidRowError(toShown, invalid[0]);
    // The values are created on demand, so that they are collected early.
    const toValues = () => rows.map(({ text }) => toValue(text));
    const movedFrom =
      recordsMoves && findClusters ? await recordMoves(run, batch, toValues(), findClusters) : undefined;
    const { moved, failures, error } = rows.length === 0 ? createResult(0) : await send(index, toValues());
    // An error before the first success is not caused by these rows.
    isAccepted ||= failures.size < rows.length;
    if (error && !isAccepted) throw error;
    const unverified = verify && findClusters ? await verifyRows(run, toValues(), failures, findClusters) : 0;
    await job.finish(
      {
        batch: index,
        rows: rows.length - failures.size,
        invalid: invalid.length,
        failed: failures.size,
        moved: moved ?? movedFrom?.size ?? null,
        ...(digest !== undefined && { digest }),
        ...(unverified > 0 && { unverified }),
      },
      formatResultLines(batch, failures, movedFrom, record.results),
    );
    progress.add(rows.length + invalid.length);
    const { rows: done, invalid: skipped, failed } = job.counts;
    if (!isExceeded?.(skipped + failed, done + skipped + failed)) return;
    const message = `${pluralize(skipped + failed, "row")} failed, more than --max-errors ${maxErrors} allows.`;
    throw new CommandFailedError("partial", "too_many_errors", message);
  };
}

function createInvalidRowError(toShown: IdentifierKind["toShown"], { number, text, problem, isHeading }: InvalidRow) {
  const hint = "Skip invalid rows with --skip-invalid, and save them with --errors-out FILE.";
  const message = `Row ${number} (${toShown(text).slice(0, 80)}) is ${problem}.`;
  return new InputError("invalid_row", message, { hint: isHeading ? undefined : hint });
}
