import { createHash } from "node:crypto";
import { groupBy } from "../../../../base/object.ts";
import { CheckedCall } from "../../../../client/checked-call.ts";
import { ServiceError } from "../../../../client/errors.ts";
import { withRetries } from "../../../../client/network-failure.ts";
import { buildRequest, type HttpRequest } from "../../../../client/request.ts";
import { readResponse, requireValidValue } from "../../../../client/response.ts";
import type { Context } from "../../../command.ts";
import { createSentSecretRedactor } from "../../../process/redact.ts";
import { type BulkJobKind, requireConfirmed } from "./job-kinds.ts";
import { addCounts } from "./log/job-log.ts";
import type { JobRun } from "./log/jobs.ts";
import type { RowFailure } from "./log/result-lines.ts";
import type { JobProgress } from "./report.ts";

/** Result of a batch whose responses are all final. */
interface SendResult {
  /** Number of identifiers that another cluster had before. Null if the service does not report it. */
  readonly moved: number | null;
  /** Rows that the service rejected, by their positions. */
  readonly failures: Map<number, RowFailure>;
  readonly error?: ServiceError | undefined;
}

export const createResult = (moved: number | null): SendResult => ({ moved, failures: new Map() });

/** Rejects the rows that the error names by their positions in a list, or all of these rows if it names none. */
function createRejection(
  error: ServiceError,
  from: number,
  values: readonly string[],
  { getList }: BulkJobKind,
  { host }: Context,
): SendResult & { readonly isPart: boolean } {
  const redact = createSentSecretRedactor(host);
  const { code = `http_${error.status}`, fields } = error.problem;
  const message = redact(error.problem.message);
  const failures = new Map<number, RowFailure>();
  const lists = groupBy([...values.keys()], (i) => getList(values[i]!));
  for (const field of fields) {
    const [, path = "", position, fieldMessage] = /^([\w.]+)\.(\d+): (.*)$/s.exec(field) ?? [];
    const row = lists.get(path.split(".").at(-1)!)?.[Number(position)];
    if (row !== undefined) failures.set(from + row, { code, message: redact(fieldMessage!) });
  }
  const isPart = failures.size > 0 && failures.size < values.length;
  if (failures.size === 0) for (const i of values.keys()) failures.set(from + i, { code, message });
  return { moved: 0, failures, error, isPart };
}

/**
 * Returns a function that sends a batch. Requests are idempotent, so temporary failures are retried for every method.
 * The function throws errors that concern the whole job.
 */
export async function openSender({ record, work, isResumed }: JobRun, progress: JobProgress, context: Context) {
  const { baseUrls, credentials } = await context.target("router");
  const client = await context.client("router", { connections: record.concurrency });
  // The strings of a batch are valid by construction. Checking each would take longer than sending them.
  const callTemplate = CheckedCall.check(work.operation, work.toArguments([], record.scope));
  /** If the service delays one request, the others wait, too. */
  let resumesAt = 0;
  /** Bodies of this size were too large for the service. Later ones are split in advance. */
  let tooLargeBytes = Number.POSITIVE_INFINITY;

  // A batch and its halves always contain the same rows of a job, so the key identifies the request.
  return (index: number, values: readonly string[]) => sendFrom(0, values, `${record.id}-${index}`);

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
          const rejection = createRejection(error, from, values, work, context);
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

  function createRequest(values: readonly string[], key: string) {
    const batchCall = callTemplate.with(work.toArguments(values, record.scope));
    const request = buildRequest(batchCall, baseUrls, credentials);
    const headers = { ...request.headers, "idempotency-key": key };
    // Buffers are allocated outside the heap. The garbage collector would copy a string body while it is in flight.
    return { ...request, headers, body: Buffer.from(request.body as string) };
  }

  /** Returns how many of these identifiers another cluster had before. Null if the service does not report it. */
  async function call(request: HttpRequest, rows: number): Promise<number | null> {
    // `forceSignal` ends requests in flight, which the resumed job resends. `signal` only ends waits between attempts.
    const { globals, host, signal, forceSignal } = context;
    const { wall } = host;
    let mayRepeat = isResumed;
    const attempt = async () => {
      const now = wall.monotonicNow();
      if (now < resumesAt) await wall.sleep(resumesAt - now, signal);
      signal.throwIfAborted();
      return client.exchange(request, { retries: 0, repeatable: true, signal: forceSignal });
    };
    const response = await withRetries(attempt, globals, wall, {
      signal,
      onRetry: (retry) => {
        const waitsForAll = retry.reason === "status 429";
        if (waitsForAll) resumesAt = Math.max(resumesAt, wall.monotonicNow() + retry.waitMs);
        else mayRepeat = true;
        progress.reportRetry(retry);
      },
    });
    const parsed = await readResponse(work.operation, request, response, { repeatable: true });
    requireConfirmed(requireValidValue(parsed), { ...work, cluster: record.scope.cluster_id!, rows });
    if (work.action !== "map") return 0;
    const movedHeader = parsed.headers["x-svc-moved"];
    // The service does not count identifiers again that a request without an outcome moved.
    return movedHeader === undefined || mayRepeat ? null : Number(movedHeader);
  }
}

/**
 * Reports whether these rows were rejected: the batch is too large, or fields of the request are not as declared
 * (DECISIONS.md, L17). Any other failure is unrelated to the rows, so the job stops and can be resumed.
 */
const isRowError = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && [413, 422].includes(error.status);
