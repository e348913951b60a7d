import { controlTokens } from "../../world/control-tokens.ts";
import type { ControlContext } from "../context.ts";
import { type ControlCaller, isStillAuthenticated } from "./credentials.ts";

type WatchedAccess = Pick<ControlContext, "store" | "tokens" | "sessions" | "wall"> & {
  readonly caller: ControlCaller;
  readonly request: { readonly signal: AbortSignal };
};

/**
 * A signal for long responses: aborted when the caller goes away, or loses access, because the token was revoked or the
 * session has ended. `release` ends the watching; so does the caller by going away.
 */
export function watchAccess({ caller, request, store, tokens, sessions, wall }: WatchedAccess) {
  const [ended, released] = [new AbortController(), new AbortController()];
  const look = () =>
    void isStillAuthenticated(caller, { tokens, sessions })
      .then((isAuthorized) => isAuthorized || ended.abort())
      .catch(() => ended.abort());
  const unwatch = [store.watch(controlTokens, look), sessions.watch(look)];
  const release = () => {
    released.abort();
    for (const stop of unwatch) stop();
  };
  const end = caller.session === undefined ? undefined : sessions.endOf(caller.session);
  if (end !== undefined) void wall.sleep(end - wall.monotonicNow(), released.signal).then(look);
  request.signal.addEventListener("abort", release, { once: true });
  // It may have ended since it was let in.
  look();
  return { signal: AbortSignal.any([request.signal, ended.signal]), hasEnded: () => ended.signal.aborted, release };
}

/** The items of a stream, for as long as the caller is allowed. It is begun at once, so that no event is missed. */
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
