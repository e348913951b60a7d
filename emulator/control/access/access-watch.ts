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
  const [accessEnd, release] = [new AbortController(), new AbortController()];
  const checkAccess = () =>
    void isStillAuthenticated(caller, { tokens, sessions })
      .then((isAuthorized) => isAuthorized || accessEnd.abort())
      .catch(() => accessEnd.abort());
  const unwatchers = [store.watch([controlTokens], checkAccess), sessions.watch(checkAccess)];
  const stopWatching = () => {
    release.abort();
    for (const stop of unwatchers) stop();
  };
  const expiryMs = caller.session === undefined ? undefined : sessions.getExpiryMs(caller.session);
  if (expiryMs !== undefined) void wall.sleep(expiryMs - wall.monotonicNow(), release.signal).then(checkAccess);
  request.signal.addEventListener("abort", stopWatching, { once: true });
  // The access may have ended since the request was accepted.
  checkAccess();
  return {
    signal: AbortSignal.any([request.signal, accessEnd.signal]),
    hasEnded: () => accessEnd.signal.aborted,
    release: stopWatching,
  };
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
