import ora from "ora";
import { describeDuration } from "../../base/duration.ts";
import { escapeControlCharacters } from "../output/control-characters.ts";
import { withNonZeroWidth } from "../output/line-wrapping.ts";
import { hasColour } from "../output/styled.ts";
import type { Host } from "../process/host.ts";

/**
 * Callers check first that animation is allowed. `since` is the start of the displayed time, in monotonic milliseconds.
 */
export function startSpinner(text: string, { stderr, env, wall }: Host, since?: number): { stop(): void } {
  const isUnicode = /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || "");
  return ora({
    text: escapeControlCharacters(text),
    ...(since === undefined
      ? {}
      : { suffixText: () => `(${describeDuration(Math.floor((wall.monotonicNow() - since) / 1_000) * 1_000)})` }),
    stream: withNonZeroWidth(stderr) as unknown as NodeJS.WritableStream,
    spinner: isUnicode ? "dots" : "line",
    color: hasColour(stderr, undefined, env) ? "cyan" : false,
    isEnabled: true,
    // Prompts and Ctrl-C need standard input.
    discardStdin: false,
  }).start();
}
