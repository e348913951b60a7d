import { createHash } from "node:crypto";
import { runConcurrently } from "../../../../base/concurrency.ts";
import { pluralize } from "../../../../base/text.ts";
import { CheckedCall } from "../../../../client/checked-call.ts";
import { ServiceError } from "../../../../client/errors.ts";
import { withRetries } from "../../../../client/network-failure.ts";
import { buildRequest } from "../../../../client/request.ts";
import { readResponse, requireValidValue } from "../../../../client/response.ts";
import type { Context } from "../../../command.ts";
import { CommandFailedError, UsageError } from "../../../process/failure.ts";
import type { IdentifierKind } from "./identifiers.ts";
import { groupIntoBatches, IdentifierCounter, type InvalidRow, type RowBatch } from "./input/batches.ts";
import { InputError } from "./input/format.ts";
import { readRows } from "./input/rows.ts";
import { type InputSource, readFingerprint, trackFingerprint } from "./input/source.ts";
import { type BulkJobKind, requireConfirmed } from "./job-kinds.ts";
import { addCounts, type OpenJob } from "./log/job-log.ts";
import type { JobRecord } from "./log/jobs.ts";
import { formatResultLines, type RowFailure } from "./log/results.ts";
import { createLookup, requireLookup } from "./lookup.ts";
import { parseErrorLimit, requireUnchangedPlan } from "./plan.ts";
import { createJobProgress, type JobProgress } from "./report.ts";

interface JobRun {
  readonly record: JobRecord;
  readonly source: InputSource;
  readonly work: BulkJobKind;
  readonly job: OpenJob;
  /** Whether an earlier run may have sent some of the remaining batches. */
  readonly isResumed: boolean;
}

/**
 * Performs the rest of a job: rows → identifiers → batches → requests. Finished batches are logged as they complete.
 * Resolves with the results when every row is processed. Throws if the job stops earlier.
 */
export async function runJob(run: JobRun, context: Context) {
  const { record, source, work, job } = run;
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
  const { scope, skip_invalid: skipsInvalid, max_errors: maxErrors, verify, input } = record;
  const cluster = scope.cluster_id!;
  const { toValue, toShown } = work.getKind(record);
  const isExceeded = maxErrors === null ? undefined : parseErrorLimit(maxErrors, input.rows ?? undefined);
  const send = await createSender(run, progress, context);
  const recordsMoves = work.action === "map" && record.results === "all";
  const findClusters = verify
    ? await requireLookup(work, context)
    : recordsMoves
      ? await createLookup(work, context)
      : undefined;

  let isAccepted = job.counts.rows > 0;
  // The values are created on demand, so that they are collected early.
  const toValues = (rows: RowBatch["rows"]) => rows.map(({ text }) => toValue(text));

  /** Records the clusters that lose identifiers, before sending. Returns them by the first row of each identifier. */
  async function findPreviousClusters({ index, rows }: RowBatch) {
    if (!recordsMoves || !findClusters) return undefined;
    const values = toValues(rows);
    const clusters = await findClusters(values);
    // An earlier run may have moved some before it stopped. For these, the cluster that it recorded counts.
    const earlierMoves = job.unfinishedMoves.get(index) ?? [];
    const earlierClusters = new Map(earlierMoves.map(([input, from]) => [toValue(input), from]));
    const movedFrom = new Map<number, string>();
    const checkedValues = new Set<string>();
    for (const [position, value] of values.entries()) {
      const current = clusters.get(value);
      const previous = current === cluster ? earlierClusters.get(value) : current;
      if (typeof previous === "string" && !checkedValues.has(value)) movedFrom.set(position, previous);
      checkedValues.add(value);
    }
    const moves = [...movedFrom].map(([position, from]) => [rows[position]!.text, from] as const);
    if (moves.length > 0) await job.recordMoves(index, moves);
    return movedFrom;
  }

  /** Adds the rows that are not in the expected cluster. Returns the number of rows without a look-up. */
  async function verifyRows({ rows }: RowBatch, failures: Map<number, RowFailure>): Promise<number> {
    if (!verify || !findClusters) return 0;
    const values = toValues(rows);
    const clusters = await findClusters(values);
    let unverified = 0;
    for (const [position, value] of values.entries()) {
      const found = clusters.get(value);
      if (failures.has(position)) continue;
      if (found === undefined) unverified += 1;
      else if ((found === cluster) !== (work.action === "map")) {
        const message = `${found === null ? "not mapped" : `mapped to ${found}`} when looked up`;
        failures.set(position, { code: "not_verified", message });
      }
    }
    return unverified;
  }

  return async (batch: RowBatch): Promise<void> => {
    const { index, rows, invalid, digest } = batch;
    if (invalid[0] && !skipsInvalid && !isExceeded) throw createInvalidRowError(toShown, invalid[0]);
    const movedFrom = await findPreviousClusters(batch);
    const { moved, failures, error } = rows.length === 0 ? createResult(0) : await send(index, toValues(rows));
    // An error before the first success is not caused by these rows.
    isAccepted ||= failures.size < rows.length;
    if (error && !isAccepted) throw error;
    const unverified = await verifyRows(batch, failures);
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

/** Result of a batch whose responses are all final. */
interface SendResult {
  /** Number of identifiers that another cluster had before. Null if the service does not report it. */
  readonly moved: number | null;
  /** Rows that the service rejected, by their positions. */
  readonly failures: Map<number, RowFailure>;
  readonly error?: ServiceError | undefined;
}

const createResult = (moved: number | null): SendResult => ({ moved, failures: new Map() });

/** Rejects the rows that the error names by their positions, or all of these rows if it names none. */
function createRejection(error: ServiceError, from: number, count: number): SendResult & { readonly isPart: boolean } {
  const { code = `http_${error.status}`, message, fields } = error.problem;
  const failures = new Map<number, RowFailure>();
  for (const field of fields) {
    const [, position, fieldMessage] = /^[\w.]+\.(\d+): (.*)$/s.exec(field) ?? [];
    if (Number(position) < count) failures.set(from + Number(position), { code, message: fieldMessage! });
  }
  const isPart = failures.size > 0 && failures.size < count;
  if (failures.size === 0) for (let i = 0; i < count; i += 1) failures.set(from + i, { code, message });
  return { moved: 0, failures, error, isPart };
}

/**
 * Creates a sender of batches. Requests are idempotent, so temporary failures are retried for every method. It throws
 * errors that concern the whole job.
 */
async function createSender({ record, work, isResumed }: JobRun, progress: JobProgress, context: Context) {
  // `forceSignal` ends requests in flight, which the resumed job resends. `signal` only ends waits between attempts.
  const { globals, host, signal, forceSignal } = context;
  const { wall } = host;
  const { id: jobId, scope } = record;
  const { operation } = work;
  const { baseUrls, credentials } = await context.target("router");
  const client = await context.client("router", { connections: record.concurrency });
  // If the service delays one request, the others wait, too.
  let resumesAt = 0;
  // Bodies of this size were too large for the service. Later ones are split in advance.
  let tooLargeBytes = Number.POSITIVE_INFINITY;

  // The strings of a batch are valid by construction. Checking each would take longer than sending them.
  const callTemplate = CheckedCall.check(operation, work.toArguments([], scope));
  const createRequest = (values: readonly string[], key: string) => {
    const builtRequest = buildRequest(callTemplate.with(work.toArguments(values, scope)), baseUrls, credentials);
    const headers = { ...builtRequest.headers, "idempotency-key": key };
    // Buffers are allocated outside the heap. The garbage collector would copy a string body while it is in flight.
    return { ...builtRequest, headers, body: Buffer.from(builtRequest.body as string) };
  };

  async function call(request: ReturnType<typeof createRequest>, rows: number): Promise<number | null> {
    let mayRepeat = isResumed;
    const attempt = async () => {
      const now = wall.monotonicNow();
      if (now < resumesAt) await wall.sleep(resumesAt - now, signal);
      signal.throwIfAborted();
      return client.exchange(request, { retries: 0, repeatable: true, signal: forceSignal });
    };
    const response = await withRetries(attempt, globals, wall, {
      signal,
      onRetry(retry) {
        if (retry.reason === "status 429") resumesAt = Math.max(resumesAt, wall.monotonicNow() + retry.waitMs);
        else mayRepeat = true;
        progress.reportRetry(retry);
      },
    });
    const parsed = await readResponse(operation, request, response, { repeatable: true });
    requireConfirmed(requireValidValue(parsed), { ...work, cluster: scope.cluster_id!, rows });
    if (work.action !== "map") return 0;
    const movedHeader = parsed.headers["x-svc-moved"];
    // The service does not count identifiers again that a request without an outcome moved.
    return movedHeader === undefined || mayRepeat ? null : Number(movedHeader);
  }

  /** Sends the part of a batch that begins at a position. Each part of a batch has a key of its own. */
  async function sendFrom(from: number, values: readonly string[], batchKey: string, part = ""): Promise<SendResult> {
    const request = createRequest(values, batchKey + part);
    const isDivisible = values.length > 1;
    if (!isDivisible || request.body.length < tooLargeBytes) {
      try {
        return createResult(await call(request, values.length));
      } catch (error) {
        if (!isRowError(error)) throw error;
        if (!isDivisible || error.status !== 413) {
          const rejection = createRejection(error, from, values.length);
          return rejection.isPart ? sendOthers(rejection, from, values, batchKey) : rejection;
        }
        tooLargeBytes = Math.min(tooLargeBytes, request.body.length);
      }
    }
    const half = Math.ceil(values.length / 2);
    const first = await sendFrom(from, values.slice(0, half), batchKey, `${part}.1`);
    const second = await sendFrom(from + half, values.slice(half), batchKey, `${part}.2`);
    return {
      moved: addCounts(first.moved, second.moved),
      failures: new Map([...first.failures, ...second.failures]),
      error: first.error ?? second.error,
    };
  }

  async function sendOthers(
    { failures, error }: SendResult,
    from: number,
    values: readonly string[],
    batchKey: string,
  ): Promise<SendResult> {
    const positions = [...values.keys()].filter((i) => !failures.has(from + i));
    const others = positions.map((i) => values[i]!);
    // The service decides which rows these are, so their key depends on them. It stays short, because it is a header.
    const digest = createHash("sha256").update(others.join("\n")).digest("hex");
    const { moved, failures: otherFailures } = await sendFrom(0, others, batchKey, `.${digest.slice(0, 16)}`);
    for (const [i, failure] of otherFailures) failures.set(from + positions[i]!, failure);
    return { moved, failures, error };
  }

  // A batch and its halves always contain the same rows of a job, so the key identifies the request.
  return (index: number, values: readonly string[]) => sendFrom(0, values, `${jobId}-${index}`);
}

/**
 * Reports whether these rows were rejected: the batch is too large, or fields of the request are not as declared
 * (DECISIONS.md, L17). Any other failure is unrelated to the rows, so the job stops and can be resumed.
 */
const isRowError = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && [413, 422].includes(error.status);
