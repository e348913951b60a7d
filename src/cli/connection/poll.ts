import { describeDuration } from "../../base/duration.ts";
import type { Context } from "../command.ts";
import { CommandFailedError } from "../failure.ts";

const firstPauseMs = 200;
const longestPauseMs = 5_000;

/** Asks again, at growing intervals of wall time, until there is an answer. Exit 75 when the time is over. */
export async function pollUntil<T>(
  { host: { wall }, signal }: Context,
  timeoutMs: number,
  awaited: string,
  ask: () => Promise<T | undefined>,
): Promise<T> {
  const deadline = wall.monotonicNow() + timeoutMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 1.5)) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (wall.monotonicNow() + pauseMs > deadline) {
      const message = `Timed out after ${describeDuration(timeoutMs)} waiting for ${awaited}.`;
      throw new CommandFailedError("temporary", "wait_timeout", message, {
        hint: "Run the command again to keep waiting.",
      });
    }
    await wall.sleep(pauseMs, signal);
    signal.throwIfAborted();
  }
}
