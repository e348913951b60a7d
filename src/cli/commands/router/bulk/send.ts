import { CheckedCall } from "../../../../client/checked-call.ts";
import { ServiceError } from "../../../../client/errors.ts";
import { withRetries } from "../../../../client/network-failure.ts";
import { buildRequest } from "../../../../client/request.ts";
import { readResponse, requireValidValue } from "../../../../client/response.ts";
import type { Context } from "../../../command.ts";
import type { RowBatch } from "./input/batches.ts";
import type { JobRecord } from "./log/jobs.ts";
import { addCounts } from "./log/log-file.ts";
import type { RetryNotice } from "./progress.ts";
import { type BulkJobKind, requireConfirmed } from "./work.ts";

/** Result of a batch whose responses are all final. */
export interface BatchResult {
  /** Number of identifiers that another cluster had before. Null if the service does not report it. */
  readonly moved: number | null;
  readonly rejected: readonly RejectedRange[];
}

/** Range of values of a batch that the service rejected: from the first position up to, but not including, the last. */
export interface RejectedRange {
  readonly from: number;
  readonly to: number;
  readonly error: ServiceError;
}

/**
 * Creates a sender of batches. Requests are idempotent, so temporary failures are retried for every method. It throws
 * errors that concern the whole job.
 */
export async function createSender(
  { id: jobId, scope }: JobRecord,
  work: BulkJobKind,
  { concurrency, onRetry }: { readonly concurrency: number; readonly onRetry: (retry: RetryNotice) => void },
  context: Context,
): Promise<(batch: RowBatch) => Promise<BatchResult>> {
  // `forceSignal` ends requests in flight, which the resumed job resends. `signal` only ends waits between attempts.
  const { globals, host, signal, forceSignal } = context;
  const { operation } = work;
  const { baseUrls, credentials } = await context.target("router");
  const client = await context.client("router", { connections: concurrency });
  const rule = { retries: globals.retries, maxWaitMs: globals.maxWaitMs };
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
    const response = await withRetries(
      async () => {
        const now = host.wall.monotonicNow();
        if (now < resumesAt) await host.wall.sleep(resumesAt - now, signal);
        signal.throwIfAborted();
        return client.exchange(request, { retries: 0, repeatable: true, signal: forceSignal });
      },
      rule,
      host.wall,
      {
        signal,
        onRetry(retry) {
          if (retry.reason === "status 429") resumesAt = Math.max(resumesAt, host.wall.monotonicNow() + retry.waitMs);
          onRetry(retry);
        },
      },
    );
    const parsed = await readResponse(operation, request, response, { repeatable: true });
    requireConfirmed(requireValidValue(parsed), { ...work, cluster: scope.cluster_id!, rows });
    const movedHeader = parsed.headers["x-svc-moved"];
    return movedHeader === undefined && work.action === "map" ? null : Number(movedHeader ?? 0);
  }

  async function sendFrom(from: number, values: readonly string[], key: string): Promise<BatchResult> {
    const request = createRequest(values, key);
    const isDivisible = values.length > 1;
    if (!isDivisible || request.body.length < tooLargeBytes) {
      try {
        return { moved: await call(request, values.length), rejected: [] };
      } catch (error) {
        if (!isRowError(error)) throw error;
        if (error.status !== 413 || !isDivisible) {
          return { moved: 0, rejected: [{ from, to: from + values.length, error }] };
        }
        tooLargeBytes = Math.min(tooLargeBytes, request.body.length);
      }
    }
    const half = Math.ceil(values.length / 2);
    const first = await sendFrom(from, values.slice(0, half), `${key}.1`);
    const secondHalf = await sendFrom(from + half, values.slice(half), `${key}.2`);
    return { moved: addCounts(first.moved, secondHalf.moved), rejected: [...first.rejected, ...secondHalf.rejected] };
  }

  // A batch and its halves always contain the same rows of a job, so the key identifies the request.
  return ({ index, getValues }) => sendFrom(0, getValues(), `${jobId}-${index}`);
}

/**
 * Reports whether these rows were rejected: the batch is too large, or fields of the request are not as declared
 * (DECISIONS.md, L17). Any other failure is unrelated to the rows, so the job stops and can be resumed.
 */
const isRowError = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && [413, 422].includes(error.status);
