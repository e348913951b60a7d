import { describeDuration } from "../../base/quantities.ts";
import type { Context } from "../command.ts";
import { escapeControlCharacters } from "../output/control-characters.ts";
import { canShowStatusLine } from "../output/print.ts";
import { hasColour, withNonZeroWidth } from "../output/styled.ts";
import type { GlobalOptions } from "../parse/globals.ts";
import { isSwitchedOn } from "../process/environment.ts";
import { CommandFailedError, UsageError } from "../process/failure.ts";
import type { Host } from "../process/host.ts";

/**
 * Prompts y/N before a repairable change. Scripts pass --yes. The action has its verb first and no full stop: "Void a
 * contract (composite id T-1)".
 */
export async function confirmYes(action: string, context: Context): Promise<void> {
  if (!(await context.confirm(`${action}?`, "--yes"))) throw createDeclinedError();
}

/** An irreversible change requires its name, in scripts by --confirm. --yes is not enough (DECISIONS.md, L8). */
export async function confirmName(action: string, name: string, confirmedName: string | undefined, context: Context) {
  if (confirmedName === name) return;
  if (confirmedName !== undefined) throw new UsageError(`--confirm must be ${name}, got "${confirmedName}"`);
  if (!canPrompt(context.host, context.globals)) {
    throw new UsageError(`--confirm ${name} is required, because this cannot be undone`, {
      hint: `The command would do this: ${action}.`,
    });
  }
  const { askText } = await import("./ask.ts");
  const input = await askText(`${action}: this cannot be undone. Type ${name} to continue:`, context);
  if (input.trim() !== name) throw createDeclinedError();
}

const createDeclinedError = (): CommandFailedError =>
  new CommandFailedError("failed", "declined", "Nothing was changed.");

/** Reports whether prompts are allowed: both ends are a terminal, and no flag forbids prompts (DECISIONS.md, L6). */
export const canPrompt = ({ stdin, stderr, env }: Host, { noInput }: GlobalOptions): boolean =>
  stdin.isTTY === true && stderr.isTTY === true && !isSwitchedOn(env.CI) && !isSwitchedOn(env.SVC_NO_INPUT) && !noInput;

const spinnerDelayMs = 300;

/** Animation requires a terminal with a width, no CI, and no --quiet (DECISIONS.md, L5). */
export const canAnimate = ({ host: { stderr, env }, globals }: Pick<Context, "host" | "globals">): boolean =>
  canShowStatusLine(stderr) &&
  "cursorTo" in stderr &&
  !isSwitchedOn(env.CI) &&
  env.TERM !== "dumb" &&
  !globals.quiet &&
  !globals.verbose;

/**
 * Performs work and shows a spinner on standard error after 300 ms, until it is done. Clears the line afterwards. With
 * `tellsTime`, the caller's text contains the elapsed time.
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
  const completion = new AbortController();
  const endSignal = AbortSignal.any([completion.signal, signal]);
  const animation = (async () => {
    await host.wall.sleep(spinnerDelayMs, endSignal);
    if (endSignal.aborted) return undefined;
    const { default: ora } = await import("ora");
    return endSignal.aborted ? undefined : startSpinner(ora, text, host, tellsTime ? began : undefined);
  })();
  const stop = () => void animation.then((spinner) => spinner?.stop());
  // On Ctrl-C, the cursor is restored before other output.
  endSignal.addEventListener("abort", stop, { once: true });
  try {
    return await work();
  } finally {
    completion.abort();
    (await animation)?.stop();
  }
}

/** `since` is the start of the displayed time, in monotonic milliseconds. */
function startSpinner(ora: typeof import("ora").default, text: string, { stderr, env, wall }: Host, since?: number) {
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
