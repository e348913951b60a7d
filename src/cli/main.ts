import { systemWallClock, toIsoMillis } from "../base/clock.ts";
import { svcVersion } from "../base/version.ts";
import { commandGroups } from "./command-tree/groups.ts";
import {
  groupNames,
  insertSeparator,
  loadCommands,
  loadDeclarations,
  loadParser,
  readLine,
} from "./command-tree/tree.ts";
import { readProfiles } from "./connection/profiles/profile.ts";
import { renderHelp } from "./help/help.ts";
import { annotate, shouldAnnotate } from "./output/ci.ts";
import { createPrinter, printPage } from "./output/print.ts";
import { buildNextArgv, getFlagValue, locateCommand, normalizeArgv, parseTargetFlags } from "./parse/argv.ts";
import {
  createStdoutError,
  type ErrorExplanation,
  explainError,
  explainInterruption,
  formatExplanation,
  formatStack,
  redactExplanation,
  signalCodes,
  toExplanationJson,
} from "./process/exit.ts";
import { PartialFailureError, UsageError } from "./process/failure.ts";
import type { Host } from "./process/host.ts";
import { createShutdownController, type ShutdownController } from "./process/shutdown-controller.ts";

export { createProcessHost } from "./process/process-host.ts";

/**
 * Runs one command line, without `svc`, and resolves with the exit code (src/cli/process/exit.ts). Never rejects. All
 * input and output goes through the host.
 */
export async function main(argv: readonly string[], host: Host): Promise<number> {
  const args = normalizeArgv(await insertSeparator(argv));
  const shutdown = createShutdownController(host);
  let isOutputClosed = false;
  let outputError: NodeJS.ErrnoException | undefined;
  const onOutputError = (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") isOutputClosed = true;
    else outputError ??= error;
    shutdown.stop();
  };
  // Unread output on standard error is lost and does not stop the run.
  const onNoteError = () => {};
  // This listener stays, because the last write can fail after the run.
  host.stdout.on("error", onOutputError);
  host.stderr.on("error", onNoteError);
  const stopListening = host.onSignal((name) => shutdown.interrupt(name));
  try {
    const code = await run(args, host, shutdown).catch((error: unknown) => {
      if (isOutputClosed || outputError) return 0;
      throw error;
    });
    if (outputError) throw createStdoutError(outputError);
    // A closed output ends the command successfully (DECISIONS.md, L3).
    return isOutputClosed ? 0 : code;
  } catch (error) {
    const { name } = shutdown;
    if (!name || outputError) return reportFailure(explainError(error), error, args, host);
    if (error instanceof PartialFailureError) return reportFailure(explainInterruption(error, name), error, args, host);
    return signalCodes[name];
  } finally {
    stopListening();
    shutdown.endGrace();
    host.stderr.off("error", onNoteError);
  }
}

async function run(argv: readonly string[], host: Host, shutdown: ShutdownController) {
  const printAndSucceed = (page: string) => printPage(host, page).then(() => 0);
  const page = await findRequestedPage(argv, host);
  if (page !== undefined) return printAndSucceed(page);

  const { words } = locateCommand(argv);
  const parser = await loadParser(words);
  try {
    const parsedLine = parser.isGroup(words) && !argv.includes("--") ? undefined : parser.parse(argv);
    if (!parsedLine) return await printAndSucceed(await renderHelp(argv, host));
    const { runCommandLine, runCaptured } = await import("./runtime/perform.ts");
    return await runCommandLine(parsedLine, {
      argv,
      host,
      shutdown,
      svc: (inner, runOptions = {}) => runCaptured(main, inner, host, runOptions),
      parseLine: readLine,
    });
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const isCommand = error.message.startsWith("unknown command");
    const replacement = isCommand ? (await import("./parse/suggestions.ts")).findReplacement(words) : undefined;
    if (replacement !== undefined) throw new UsageError(error.message, { hint: `${replacement}.`, cause: error });
    throw error.withHint((await suggestName(error, words)) ?? `See ${parser.formatHelpLine(words)}.`);
  }
}

/** Adds a suggestion of other groups that have an unknown command or option. */
async function suggestName({ message, hint }: UsageError, words: readonly string[]): Promise<string | undefined> {
  const [, kind, unknownName = ""] = /^unknown (command|option) '(?:--)?([^'=]*)/.exec(message) ?? [];
  if (kind === undefined || hint !== undefined) return undefined;
  const { suggestCommand, suggestCommandsWithOption } = await import("./parse/suggestions.ts");
  const commands = (await Promise.all((await groupNames()).map(loadCommands))).flat();
  const isListed = ({ words: [group = "", name = ""] }: (typeof commands)[number]) =>
    commandGroups[group]?.unlisted?.includes(name) !== true;
  return kind === "option"
    ? suggestCommandsWithOption(
        unknownName,
        commands.filter(isListed).map((command) => command.loadDeclaration()),
      )
    : suggestCommand(words.slice(words.indexOf(unknownName)), commands);
}

/** Finds output that needs no command: the version, a help page or completions. */
async function findRequestedPage(argv: readonly string[], host: Host): Promise<string | undefined> {
  if (argv[0] === "complete") return formatCompletions(argv.slice(argv.indexOf("--") + 1), host);
  const { words, wantsHelp } = locateCommand(argv);
  const isVersion = ["--version", "-V", "-v"].some((flag) => argv.includes(flag)) && words.length === 0;
  if (isVersion || (words.length === 1 && words[0] === "version")) return `${svcVersion}\n`;
  return wantsHelp || words.length === 0 || words[0] === "help" ? renderHelp(argv, host) : undefined;
}

async function formatCompletions(words: readonly string[], host: Host): Promise<string> {
  const { findCompletions } = await import("./help/completions.ts");
  const names = new Set(await groupNames());
  return findCompletions(words, {
    groups: [
      ...[...names].map((value) => ({ value, description: commandGroups[value]?.summary ?? "" })),
      { value: "help", description: "Show help for a command or a topic" },
    ],
    loadDeclarations: async (group) => (names.has(group) ? loadDeclarations(group) : []),
    listSnapshots: async () => (await import("./connection/emulator/snapshot-names.ts")).listSnapshotNames(host),
    listProfiles: async () => {
      return Object.keys((await readProfiles(host.env).catch(() => ({ profiles: {} }))).profiles);
    },
  });
}

async function reportFailure(errorExplanation: ErrorExplanation, error: unknown, argv: readonly string[], host: Host) {
  const ownWords = argv.slice(0, argv.includes("--") ? argv.indexOf("--") : undefined);
  const { next } = errorExplanation;
  const explanation = redactExplanation({
    ...errorExplanation,
    next: next && buildNextArgv(next, parseTargetFlags(ownWords)),
  });
  const wantsJson = ownWords.includes("--json") || getFlagValue(ownWords, "--format") === "json";
  const printer = createPrinter(host, false);
  // Log collectors of an emulator read one document per line, also for a fatal error.
  const isLogged = getFlagValue(ownWords, "--log") === "json";
  const logEntry = isLogged && { time: toIsoMillis(systemWallClock.now()), level: "error", event: "fatal" };
  if (isLogged || wantsJson) {
    await printer.printJson("stderr", { ...logEntry, ...toExplanationJson(explanation) });
    return explanation.exitCode;
  }
  const stack = ownWords.includes("--debug") && error instanceof Error ? formatStack(error) : [];
  await printer.printLines("stderr", [...formatExplanation(explanation), ...stack]);
  const isAnnotated = error instanceof UsageError && error.isAnnotated;
  if (!isAnnotated && shouldAnnotate(host.env, ownWords)) await annotate(host, explanation);
  return explanation.exitCode;
}
