import { PassThrough, Readable, Writable } from "node:stream";
import { hasCollector } from "../../base/otel-settings.ts";
import type { CommandDeclaration } from "../../derive/command-spec.ts";
import type { CapturedRun, CommandOutcome, Context, NestedRunOptions } from "../command.ts";
import { loadWrittenCommand } from "../command-tree/written-commands.ts";
import { findEndedHint, findRejectionHint } from "../connection/emulator/ended-emulator.ts";
import { createOutput } from "../output/output.ts";
import {
  type CommandInput,
  type DeclaredCommand,
  findMissingInput,
  type InterpretedLine,
} from "../parse/declaration.ts";
import { type GlobalOptions, readGlobals } from "../parse/globals.ts";
import { parsePositional } from "../parse/values.ts";
import { exitCodeByFailure, explainError, signalCodes } from "../process/exit.ts";
import {
  createMissingFieldsError,
  InputRequiredError,
  InterruptedError,
  PartialFailureError,
  UsageError,
} from "../process/failure.ts";
import type { Host } from "../process/host.ts";
import { canPrompt } from "../prompt/confirm.ts";
import { startCommandSpan } from "./command-span.ts";
import { createContext, type RunOptions } from "./context.ts";
import { runDerivedCommand } from "./derived-command.ts";
import { addNextCommand, suggestExistingNames } from "./existing-names.ts";

/** Resolves with the exit code. Rejects with the error of the command. */
export function runCommandLine(invocation: InterpretedLine, run: RunOptions): Promise<number> {
  return hasCollector(run.host.env) ? performTraced(invocation, run) : performCommand(invocation, run);
}

async function performCommand(
  { declaration, input, globals: givenGlobals }: InterpretedLine,
  run: RunOptions,
): Promise<number> {
  const { host, shutdown } = run;
  const globals = readGlobals(givenGlobals);
  rejectUnusedOptions(declaration, globals, givenGlobals);
  const context = createContext(run, globals, createOutput(host, globals));
  try {
    const result = await runWithPrompts(declaration, await completeInput(declaration, input, context), context);
    if (result === undefined) return 0;
    return typeof result === "string" ? exitCodeByFailure[result] : result.exit;
  } catch (error) {
    if (error instanceof InterruptedError && !shutdown.name) shutdown.interrupt("SIGINT");
    throw error;
  } finally {
    await context.close();
  }
}

const requestOptions = ["timeout", "retries", "max-wait", "max-response"];

function rejectUnusedOptions(
  declaration: DeclaredCommand,
  globals: GlobalOptions,
  givenGlobals: InterpretedLine["globals"],
): void {
  rejectLayoutOptions(declaration, globals);
  const sendsNothing = !("operation" in declaration) && declaration.sendsNothing === true;
  const unused = sendsNothing ? requestOptions.find((name) => givenGlobals[name] !== undefined) : undefined;
  if (unused !== undefined) {
    throw new UsageError(`--${unused} cannot be used with svc ${declaration.words.join(" ")}`, {
      hint: "It sends no requests.",
    });
  }
}

/** Forwarded bytes and commands without output have no fields and no other format. */
function rejectLayoutOptions(declaration: DeclaredCommand, { fields, format, wide }: GlobalOptions): void {
  const output = findOutputFlag(declaration);
  const isContent = output === "bytes" || output === "html" || output === "content";
  const isOtherFormat = format !== undefined && format !== "json";
  const flag = fields !== undefined ? "--fields" : isOtherFormat ? "--format" : wide ? "--wide" : undefined;
  const isRefused = flag === "--format" ? isContent : isContent || output === "empty" || output === "text";
  if (flag === undefined || !isRefused) return;
  throw new UsageError(`${flag} cannot be used with svc ${declaration.words.join(" ")}`, {
    hint: isContent ? "The response is printed unchanged." : "The command prints no fields and no table.",
  });
}

function findOutputFlag(declaration: DeclaredCommand): string | undefined {
  if ("operation" in declaration) return declaration.output;
  return declaration.prints ?? (declaration.extendsDerived ? declaration.spec?.output : undefined);
}

async function performTraced(invocation: InterpretedLine, run: RunOptions): Promise<number> {
  const { host, shutdown, svc } = run;
  const span = startCommandSpan(host, invocation.declaration.words.join(" "));
  if (!span) return performCommand(invocation, run);
  const env = span.variables;
  // The host is extended, not copied, because copying would open standard input.
  const tracedHost: Host = Object.create(host, { env: { value: { ...host.env, ...env } } });
  const runInner: Context["svc"] = (line, runOptions) =>
    svc(line, { ...runOptions, env: { ...env, ...runOptions?.env } });
  try {
    const exit = await performCommand(invocation, { ...run, host: tracedHost, svc: runInner });
    await span.end(exit, undefined, shutdown.forceSignal);
    return exit;
  } catch (error) {
    await span.end(
      shutdown.name ? signalCodes[shutdown.name] : explainError(error).exitCode,
      error,
      shutdown.forceSignal,
    );
    throw error;
  }
}

/** Runs the command, and restarts it after each prompt for missing input. */
async function runWithPrompts(
  declaration: DeclaredCommand,
  input: CommandInput,
  context: Context,
): Promise<Awaited<CommandOutcome>> {
  for (let currentInput = input; ; ) {
    const completeInput = pickTyped(declaration, currentInput);
    try {
      if ("operation" in declaration) return await runDerivedCommand(declaration, completeInput, context);
      const command = await loadWrittenCommand(declaration.words, declaration.module);
      return await command.run(completeInput, context, declaration.spec);
    } catch (error) {
      if (!(error instanceof InputRequiredError)) {
        const explained = addNextCommand(await suggestExistingNames(error, declaration, completeInput), completeInput);
        const hint = findRejectionHint(explained, context) ?? (await findEndedHint(explained, context));
        throw hint === undefined ? explained : new PartialFailureError(explained, [], { hint });
      }
      currentInput = await supplementInput(declaration, currentInput, error, context);
    }
  }
}

function pickTyped({ positionals: specs }: CommandDeclaration, input: CommandInput): CommandInput {
  const positionals = Object.fromEntries(
    specs.map(({ name, type = "text", choices }) => {
      const value = input.positionals[name];
      return [name, typeof value === "string" ? parsePositional(name, value, type, choices) : value];
    }),
  );
  return { ...input, positionals: positionals as CommandInput["positionals"] };
}

/**
 * Without a terminal, missing input fails with exit code 2 before credentials and addresses are resolved (DECISIONS.md,
 * L6, L7).
 */
async function completeInput(
  declaration: DeclaredCommand,
  input: CommandInput,
  context: Context,
): Promise<CommandInput> {
  const missing = findMissingInput(declaration, input);
  const missingNames = [
    ...missing.positionals.map(({ name }) => `<${name.replaceAll("_", "-")}>`),
    ...missing.flags.map(({ flag }) => `--${flag}`),
  ];
  if (missingNames.length + missing.body.length === 0) return input;
  if (canPrompt(context.host, context.globals)) {
    await requireTarget(declaration, input, context);
    const { askForMissing } = await import("./ask-required.ts");
    return askForMissing(missing, input, context, declaration.words.join(" "));
  }
  if (missingNames.length === 0) return input;
  throw createMissingFieldsError(missingNames, { hint: `See svc ${declaration.words.join(" ")} --help.` });
}

async function requireTarget(declaration: DeclaredCommand, { flags }: CommandInput, context: Context): Promise<void> {
  const service = ("operation" in declaration ? declaration : declaration.spec)?.service;
  if (flags["dry-run"] === true) return;
  if (service === "router" || service === "contracts") await context.target(service);
}

async function supplementInput(
  declaration: CommandDeclaration,
  input: CommandInput,
  missing: InputRequiredError,
  context: Context,
): Promise<CommandInput> {
  const positionals = declaration.positionals.filter(({ name }) => name === missing.input);
  const flags = declaration.flags.filter(({ flag }) => flag === missing.input);
  if (positionals.length + flags.length === 0 || !canPrompt(context.host, context.globals)) throw missing;
  const { askForMissing } = await import("./ask-required.ts");
  return askForMissing({ positionals, flags, body: [] }, input, context, declaration.words.join(" "));
}

type MainFunction = (argv: readonly string[], host: Host) => Promise<number>;

export async function runCaptured(
  main: MainFunction,
  argv: readonly string[],
  host: Host,
  { stdin, env, cwd = host.cwd }: NestedRunOptions,
): Promise<CapturedRun> {
  const [stdout, stderr] = [createCollector(), createCollector()];
  const input = stdin === undefined ? new PassThrough().end() : Readable.from([stdin]);
  const exit = await main(argv, {
    ...host,
    cwd,
    inherits: false,
    stdin: input,
    stdout: stdout.stream,
    writeAtOnce: undefined,
    stderr: stderr.stream,
    env: { ...host.env, ...env },
  });
  return { exit, stdout: stdout.getText(), stderr: stderr.getText() };
}

function createCollector(): { stream: Writable; getText: () => string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk, _encoding, callback) {
      chunks.push(Buffer.from(chunk));
      callback();
    },
  });
  return { stream, getText: () => Buffer.concat(chunks).toString("utf8") };
}
