import type { WallClock } from "../base/clock.ts";
import { NetworkError, ProxyError, ResponseTooLargeError, RetryAfterTooLongError } from "./errors.ts";
import type { HttpResponse } from "./response.ts";

export interface RetryRule {
  /** Further attempts after the first. */
  readonly retries: number;
  /** The longest single wait; when the service asks for more, RetryAfterTooLongError is thrown at once. */
  readonly maxWaitMs: number;
}

export interface Retry {
  readonly attempt: number;
  readonly waitMs: number;
  readonly reason: string;
}

const retriedStatuses: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);
const firstBackoffMs = 500;
const maxBackoffMs = 30_000;

/**
 * Sends until an answer is final. What is not repeatable is sent again after 429 alone, which says that nothing was done. Full jitter over a doubling bound; `Retry-After` is a minimum (RFC 9110, 10.2.3),
 * so nothing is sent earlier than the service asks for. By hand: undici's own handler caps that wait, and has no jitter.
 */
export async function withRetries(
  send: () => Promise<HttpResponse>,
  rule: RetryRule,
  wall: WallClock,
  options: {
    signal?: AbortSignal | undefined;
    random?: () => number;
    onRetry?: ((retry: Retry) => void) | undefined;
    repeatable?: boolean;
  },
): Promise<HttpResponse> {
  const { random = Math.random, repeatable = true } = options;
  for (let attempt = 0; ; attempt += 1) {
    const outcome = await send().catch((error: unknown) => {
      if (repeatable && isTemporary(error) && attempt < rule.retries && !options.signal?.aborted) return error;
      throw error;
    });
    const failed = outcome instanceof NetworkError;
    if (!failed && !(repeatable ? retriedStatuses.has(outcome.status) : outcome.status === 429)) return outcome;

    const retryAfter = failed ? 0 : (retryAfterMs(outcome.headers, wall.now()) ?? 0);
    if (!failed && attempt >= rule.retries) return outcome;
    if (retryAfter > rule.maxWaitMs) throw new RetryAfterTooLongError(retryAfter, rule.maxWaitMs);
    if (!failed) await drain(outcome);

    const backoffMs = random() * Math.min(maxBackoffMs, firstBackoffMs * 2 ** attempt);
    // Never less than asked for: that is at most maxWaitMs here.
    const waitMs = Math.min(rule.maxWaitMs, Math.round(retryAfter + backoffMs));
    options.onRetry?.({ attempt: attempt + 1, waitMs, reason: failed ? outcome.code : `status ${outcome.status}` });
    await wall.sleep(waitMs, options.signal);
    options.signal?.throwIfAborted();
  }
}

/** Milliseconds of the header `Retry-After`, which holds seconds, or a date by the clock of the service. */
export function retryAfterMs(
  { "retry-after": text, date }: Readonly<Record<string, string>>,
  now: number,
): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text.trim())) return Number(text) * 1_000;
  const until = Date.parse(text);
  const since = Date.parse(date ?? "");
  return Number.isNaN(until) ? undefined : Math.max(0, until - (Number.isNaN(since) ? now : since));
}

/** What floods or refuses once does so again, and who has closed the connections wants no other. */
const isTemporary = (error: unknown): error is NetworkError =>
  error instanceof NetworkError &&
  error.code !== "UND_ERR_DESTROYED" &&
  !(error instanceof ResponseTooLargeError) &&
  !(error instanceof ProxyError && error.status !== undefined && error.status < 500);

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
