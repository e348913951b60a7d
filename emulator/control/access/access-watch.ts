import { controlTokens } from "../../domain/control-tokens.ts";
import type { ControlContext } from "../context.ts";
import { type ControlCaller, isStillAuthenticated } from "./credentials.ts";

type WatchedAccess = Pick<ControlContext, "store" | "tokens" | "sessions" | "wall"> & {
  readonly caller: ControlCaller;
  readonly request: { readonly signal: AbortSignal };
};

/**
 * Returns a signal for long responses. It is aborted when the caller disconnects, when the token is revoked or when the
 * session ends. `release` stops watching, and so does a disconnect.
 */
export function watchAccess({ caller, request, store, tokens, sessions, wall }: WatchedAccess) {
  const [ended, released] = [new AbortController(), new AbortController()];
  const look = () =>
    void isStillAuthenticated(caller, { tokens, sessions })
      .then((isAuthorized) => isAuthorized || ended.abort())
      .catch(() => ended.abort());
  const unwatch = [store.watch([controlTokens], look), sessions.watch(look)];
  const release = () => {
    released.abort();
    for (const stop of unwatch) stop();
  };
  const end = caller.session === undefined ? undefined : sessions.getExpiryMs(caller.session);
  if (end !== undefined) void wall.sleep(end - wall.monotonicNow(), released.signal).then(look);
  request.signal.addEventListener("abort", release, { once: true });
  // The access may have ended since the request was accepted.
  look();
  return { signal: AbortSignal.any([request.signal, ended.signal]), hasEnded: () => ended.signal.aborted, release };
}

/** Yields the items of a stream while the caller has access. The stream starts immediately, so no event is missed. */
export async function streamWhileAllowed<T>(
  access: WatchedAccess,
  follow: (signal: AbortSignal) => AsyncIterable<T> | Promise<AsyncIterable<T>>,
): Promise<AsyncGenerator<T, void>> {
  const { signal, release } = watchAccess(access);
  try {
    return yieldUntil(await follow(signal), release);
  } catch (error) {
    release();
    throw error;
  }
}

async function* yieldUntil<T>(items: AsyncIterable<T>, release: () => void): AsyncGenerator<T, void> {
  try {
    yield* items;
  } finally {
    release();
  }
}
