import type { Wall } from "../base/clock.ts";
import { AnswerTooLarge, NetworkError, ProxyTrouble, WaitTooLong } from "./errors.ts";
import type { HttpResponse } from "./response.ts";

export interface RetryRule {
  /** Further attempts after the first. */
  readonly retries: number;
  /** The longest single wait; when the service asks for more, WaitTooLong is thrown at once. */
  readonly maxWaitMs: number;
}

export interface Retry {
  readonly attempt: number;
  readonly waitMs: number;
  readonly reason: string;
}

const retriedStatuses: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);
const idempotentMethods: ReadonlySet<string> = new Set(["GET", "PUT", "DELETE"]);
const firstBackoffMs = 500;
const maxBackoffMs = 30_000;

/** Whether a method may be sent again without doing its work twice (RFC 9110, 9.2.2). */
export const isIdempotent = (method: string): boolean => idempotentMethods.has(method);

/**
 * Sends until an answer is final. Full jitter over a doubling bound; `Retry-After` is a minimum (RFC 9110, 10.2.3),
 * so nothing is sent earlier than the service asks for. By hand: undici's own handler caps that wait, and has no jitter.
 */
export async function withRetries(
  send: () => Promise<HttpResponse>,
  rule: RetryRule,
  wall: Wall,
  options: { signal?: AbortSignal | undefined; random?: () => number; onRetry?: ((retry: Retry) => void) | undefined },
): Promise<HttpResponse> {
  const random = options.random ?? Math.random;
  for (let attempt = 0; ; attempt += 1) {
    const outcome = await send().catch((error: unknown) => {
      if (isTemporary(error) && attempt < rule.retries && !options.signal?.aborted) return error;
      throw error;
    });
    const failed = outcome instanceof NetworkError;
    if (!failed && !retriedStatuses.has(outcome.status)) return outcome;

    const retryAfter = failed ? 0 : (retryAfterMs(outcome.headers["retry-after"], wall.now()) ?? 0);
    if (retryAfter > rule.maxWaitMs) throw new WaitTooLong(retryAfter, rule.maxWaitMs);
    if (!failed && attempt >= rule.retries) return outcome;
    if (!failed) await drain(outcome);

    const backoffMs = random() * Math.min(maxBackoffMs, firstBackoffMs * 2 ** attempt);
    // Never less than asked for: that is at most maxWaitMs here.
    const waitMs = Math.min(rule.maxWaitMs, Math.round(retryAfter + backoffMs));
    options.onRetry?.({ attempt: attempt + 1, waitMs, reason: failed ? outcome.code : `status ${outcome.status}` });
    await wall.sleep(waitMs, options.signal);
    options.signal?.throwIfAborted();
  }
}

/** Milliseconds of a `Retry-After` header, which holds seconds or a date. */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header.trim())) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** What floods or refuses once does so again, and who has closed the connections wants no other. */
const isTemporary = (error: unknown): error is NetworkError =>
  error instanceof NetworkError &&
  error.code !== "UND_ERR_DESTROYED" &&
  !(error instanceof AnswerTooLarge) &&
  !(error instanceof ProxyTrouble && error.status !== undefined && error.status < 500);

const drainedBytes = 64 * 1_024;

/** So that the connection can be used again; but not for the sake of an answer that goes on and on. */
async function drain({ body }: HttpResponse): Promise<void> {
  let read = 0;
  try {
    for await (const chunk of body) {
      read += chunk.length;
      if (read > drainedBytes) return;
    }
  } catch {
    // Its status is known, and it is sent again.
  }
}
