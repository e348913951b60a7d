import { isoMillis, systemWallClock } from "../base/clock.ts";
import { type Explanation, explanationJson, explanationLines, stackLines, withoutSecrets } from "./exit.ts";
import { CommandFailedError } from "./failure.ts";
import type { Host } from "./host.ts";
import { buildNextArgv } from "./next-command.ts";
import { annotate, shouldAnnotate } from "./output/github-actions.ts";
import { createPrinter } from "./output/print.ts";
import { parseTargetFlags } from "./parse/argv.ts";

/** Tells on standard error how a command line failed, as text or as JSON. Gives the exit code. */
export async function reportFailure(
  found: Explanation,
  error: unknown,
  argv: readonly string[],
  host: Host,
): Promise<number> {
  const own = argv.slice(0, argv.includes("--") ? argv.indexOf("--") : undefined);
  const { next } = found;
  const explanation = withoutSecrets({ ...found, next: next && buildNextArgv(next, parseTargetFlags(own)) });
  const wantsJson = own.includes("--json") || own.some((token, i) => token === "--format" && own[i + 1] === "json");
  const printer = createPrinter(host, false);
  if (logsJson(own)) {
    // Whoever collects the log of an emulator reads a document on a line, also of what ended it.
    const about = { time: isoMillis(systemWallClock.now()), level: "error", event: "fatal" };
    await printer.json("stderr", { ...about, ...explanationJson(explanation) });
    return explanation.exitCode;
  }
  if (wantsJson) {
    await printer.json("stderr", explanationJson(explanation));
    return explanation.exitCode;
  }
  const stack = own.includes("--debug") && error instanceof Error ? stackLines(error) : [];
  await printer.lines("stderr", [...explanationLines(explanation), ...stack]);
  if (shouldAnnotate(host.env, own)) await annotate(host, explanation);
  return explanation.exitCode;
}

/** `svc emulator start --log json`. */
const logsJson = (argv: readonly string[]): boolean =>
  argv.some((token, i) => token === "--log=json" || (token === "--log" && argv[i + 1] === "json"));

/** Standard output takes nothing any more, for another reason than a reader that went away. */
export const createStdoutError = (cause: NodeJS.ErrnoException): CommandFailedError =>
  new CommandFailedError(
    "failed",
    "output_lost",
    `Failed to write to standard output: ${cause.code ?? cause.message}.`,
    {
      hint: "The output is lost, and the command may have taken effect. Check before you run it again.",
      cause,
    },
  );
