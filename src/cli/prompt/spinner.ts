import type { Context } from "../command.ts";
import { hasWidth } from "../output/print.ts";
import { isSwitchedOn } from "../process/environment.ts";

/** Shorter waits are not worth a line that moves. */
const patienceMs = 300;

/** Whether anything may move on standard error: a terminal with a width, no CI, no wish for quiet (DECISIONS.md, L5). */
export const canAnimate = ({ host: { stderr, env }, globals }: Pick<Context, "host" | "globals">): boolean =>
  hasWidth(stderr) &&
  "cursorTo" in stderr &&
  !isSwitchedOn(env.CI) &&
  env.TERM !== "dumb" &&
  !globals.quiet &&
  !globals.verbose;

/**
 * Does the work; after 300 ms something turns on standard error until it is done. The line is cleared again.
 * `tellsTime`: it says how long that takes already.
 */
export async function withSpinner<T>(
  context: Pick<Context, "host" | "globals" | "signal">,
  text: string,
  work: () => Promise<T>,
  { tellsTime = false } = {},
): Promise<T> {
  if (!canAnimate(context)) return work();
  const { host, signal } = context;
  const began = host.wall.monotonicNow();
  const done = new AbortController();
  const ended = AbortSignal.any([done.signal, signal]);
  const spinning = (async () => {
    await host.wall.sleep(patienceMs, ended);
    if (ended.aborted) return undefined;
    const { startSpinner } = await import("./ora.ts");
    return ended.aborted ? undefined : startSpinner(text, host, tellsTime ? began : undefined);
  })();
  const stop = () => void spinning.then((started) => started?.stop());
  // Ctrl-C: the cursor is back before anything else is printed.
  ended.addEventListener("abort", stop, { once: true });
  try {
    return await work();
  } finally {
    done.abort();
    (await spinning)?.stop();
  }
}
