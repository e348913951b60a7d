import { type Explanation, explanationJson, explanationLines, stackLines, withoutSecrets } from "./exit.ts";
import { CommandFailed } from "./failure.ts";
import type { Host } from "./host.ts";
import { nextArgv } from "./next.ts";
import { annotate, annotates } from "./output/github-actions.ts";
import { printerOn } from "./output/print.ts";
import { placeGiven } from "./parse/argv.ts";

/** Tells on standard error how a command line failed, as text or as JSON. Gives the exit code. */
export async function reported(
  found: Explanation,
  error: unknown,
  argv: readonly string[],
  host: Host,
): Promise<number> {
  const own = argv.slice(0, argv.includes("--") ? argv.indexOf("--") : undefined);
  const { next } = found;
  const explanation = withoutSecrets({ ...found, next: next && nextArgv(next, placeGiven(own)) });
  const wantsJson = own.includes("--json") || own.some((token, i) => token === "--format" && own[i + 1] === "json");
  const printer = printerOn(host, false);
  if (wantsJson) {
    await printer.json("stderr", explanationJson(explanation));
    return explanation.exitCode;
  }
  const stack = own.includes("--debug") && error instanceof Error ? stackLines(error) : [];
  await printer.lines("stderr", [...explanationLines(explanation), ...stack]);
  if (annotates(host.env, own)) await annotate(host, explanation);
  return explanation.exitCode;
}

/** Standard output takes nothing any more, for another reason than a reader that went away. */
export const lost = (cause: NodeJS.ErrnoException): CommandFailed =>
  new CommandFailed("failed", "output_lost", `Failed to write to standard output: ${cause.code ?? cause.message}.`, {
    hint: "What was to be printed is lost; what was to be done may be done. Look before you run it again.",
    cause,
  });
