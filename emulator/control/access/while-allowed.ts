import { controlTokens } from "../../world/control-tokens.ts";
import type { ControlWorld } from "../world.ts";
import { type ControlCaller, isStillIn } from "./credentials.ts";

/** What a stream brings, until the caller may no longer come in: its token was revoked, or its session has ended. */
export async function* whileAllowed<T>(
  caller: ControlCaller,
  { store, tokens, sessions }: Pick<ControlWorld, "store" | "tokens" | "sessions">,
  gone: AbortSignal,
  follow: (signal: AbortSignal) => AsyncIterable<T>,
): AsyncGenerator<T, void> {
  const ended = new AbortController();
  const look = () =>
    void isStillIn(caller, { tokens, sessions })
      .then((isIn) => isIn || ended.abort())
      .catch(() => ended.abort());
  const unwatch = [store.watch(controlTokens, look), sessions.watch(look)];
  // It may have ended since it was let in.
  look();
  try {
    yield* follow(AbortSignal.any([gone, ended.signal]));
  } finally {
    for (const stop of unwatch) stop();
  }
}
