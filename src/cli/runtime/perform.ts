import { PassThrough, Readable } from "node:stream";
import { text as readAll } from "node:stream/consumers";
import { onAbort } from "../../base/concurrency.ts";
import {
  buildOtlpDocument,
  createSpan,
  hasCollector,
  type OtelSettings,
  readOtelSettings,
  type Span,
  writeTraceparent,
} from "../../base/otel.ts";
import { svcVersion } from "../../base/version.ts";
import { ServiceError } from "../../client/errors.ts";
import type { CommandDeclaration } from "../../derive/command-spec.ts";
import type { CapturedRun, Context, NestedRunOptions } from "../command.ts";
import { loadWrittenCommand } from "../command-tree/written-commands.ts";
import { findStaleVariablesHint } from "../connection/emulator/emulator-variables.ts";
import { buildChildVariables, openTransport, readParentContext } from "../connection/http.ts";
import { createOutput } from "../output/output.ts";
import {
  type CommandInput,
  type DeclaredCommand,
  findMissingInput,
  type InterpretedLine,
} from "../parse/declaration.ts";
import { type GlobalOptions, readGlobals } from "../parse/globals.ts";
import { exitCodeByFailure, explainError, signalCodes } from "../process/exit.ts";
import {
  createMissingFieldsError,
  InputRequiredError,
  InterruptedError,
  PartialFailureError,
  UsageError,
} from "../process/failure.ts";
import type { Host } from "../process/host.ts";
import { canPrompt } from "../prompt/terminal.ts";
import { createContext, type RunOptions } from "./context.ts";
import { rejectInvalidInput, runDerivedCommand } from "./derived-command.ts";
import { addNextCommand, suggestExistingNames } from "./existing-names.ts";

/** Resolves with the exit code. Rejects with the error of the command. */
export function runCommandLine(invocation: InterpretedLine, run: RunOptions): Promise<number> {
  return hasCollector(run.host.env) ? performTraced(invocation, run) : performCommand(invocation, run);
}

async function performCommand({ declaration, input, globals: givenGlobals }: InterpretedLine, run: RunOptions) {
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

/** Forwarded bytes and commands without output have no fields and no other format. */
function rejectUnusedOptions(
  declaration: DeclaredCommand,
  { fields, format, wide }: GlobalOptions,
  givenGlobals: InterpretedLine["globals"],
): void {
  const reject = (flag: string, hint: string): never => {
    throw new UsageError(`--${flag} cannot be used with svc ${declaration.words.join(" ")}`, { hint });
  };
  const output =
    "id" in declaration
      ? declaration.output
      : (declaration.prints ?? (declaration.extendsDerived ? declaration.spec?.output : undefined));
  const isContent = output === "bytes" || output === "html" || output === "content";
  const isOtherFormat = format !== undefined && format !== "json";
  const flag = fields !== undefined ? "fields" : isOtherFormat ? "format" : wide ? "wide" : undefined;
  const isRefused = flag === "format" ? isContent : isContent || output === "empty" || output === "text";
  if (flag && isRefused)
    reject(flag, isContent ? "The response is printed unchanged." : "The command prints no fields and no table.");
  const sendsNothing = !("id" in declaration) && declaration.sendsNothing === true;
  const unused = sendsNothing ? requestOptions.find((name) => givenGlobals[name] !== undefined) : undefined;
  if (unused !== undefined) reject(unused, "It sends no requests.");
}

const maxExportMs = 1_000;

/**
 * Runs the command in an OpenTelemetry span. Its parent is the span of TRACEPARENT. Without one, the span is the root
 * of a trace. Invalid variables cause neither output nor failure.
 */
async function performTraced(invocation: InterpretedLine, run: RunOptions): Promise<number> {
  const { host, shutdown, svc } = run;
  const { settings } = readOtelSettings(host.env, "svc");
  if (!settings) return performCommand(invocation, run);
  const parent = readParentContext(host.env);
  const self = createSpan(parent);
  const start = host.wall.now();
  const variables = buildChildVariables(host.env, writeTraceparent(self));
  // The host is extended, not copied, because copying would open standard input.
  const tracedHost: Host = Object.create(host, { env: { value: { ...host.env, ...variables } } });
  const runInner: Context["svc"] = (line, runOptions) =>
    svc(line, { ...runOptions, env: { ...variables, ...runOptions?.env } });

  const end = (exit: number, failed: string | undefined) => {
    const words = invocation.declaration.words.join(" ");
    const attributes = { "svc.command": words, "process.exit.code": exit, "error.type": failed ?? null };
    const identity = { ...self, parent: parent?.span ?? null, name: `svc ${words}`, kind: "internal" } as const;
    return exportSpan({ ...identity, start, end: host.wall.now(), attributes, failed }, settings, run);
  };

  try {
    const exit = await performCommand(invocation, { ...run, host: tracedHost, svc: runInner });
    await end(exit, exit === 0 ? undefined : `exit ${exit}`);
    return exit;
  } catch (error) {
    const { code, exitCode } = explainError(error);
    await end(shutdown.name ? signalCodes[shutdown.name] : exitCode, code);
    throw error;
  }
}

/** Sends the span within a second, or until `forceSignal` is aborted. Never rejects. */
async function exportSpan(span: Span, settings: OtelSettings, { host, shutdown }: RunOptions): Promise<void> {
  const { url, headers, resource } = settings;
  const body = JSON.stringify(buildOtlpDocument([span], resource, { name: "svc", version: svcVersion }));
  const timeoutMs = Math.min(maxExportMs, settings.timeoutMs);
  try {
    const transport = await openTransport(host, { timeoutMs, maxResponseBytes: undefined });
    const request = { method: "POST", url, headers: { ...headers, "content-type": "application/json" }, body } as const;
    await transport.send(request, { timeoutMs, signal: shutdown.forceSignal }).finally(() => transport.close());
  } catch {
    // An unreachable collector does not cause a failure.
  }
}

/** Runs the command, and restarts it after each prompt for missing input. */
async function runWithPrompts(declaration: DeclaredCommand, input: CommandInput, context: Context) {
  for (let currentInput = input; ; ) {
    try {
      if ("id" in declaration) return await runDerivedCommand(declaration, currentInput, context);
      const command = await loadWrittenCommand(declaration.words, declaration.module);
      return await command.run(currentInput, context, declaration.spec);
    } catch (error) {
      const missing = error instanceof InputRequiredError ? error : findRequiredField(error, declaration, currentInput);
      if (!missing || (missing !== error && !canPrompt(context.host, context.globals))) {
        const named = await suggestExistingNames(error, declaration, currentInput, context);
        const explained = addNextCommand(named, currentInput);
        const hint = findStaleVariablesHint(explained, context);
        throw hint === undefined ? explained : new PartialFailureError(explained, [], { hint });
      }
      currentInput = await supplementInput(declaration, currentInput, missing, context);
    }
  }
}

/** Some fields are only required by the service, because other fields have certain values. */
function findRequiredField(error: unknown, { flags }: DeclaredCommand, input: CommandInput) {
  const lines = error instanceof ServiceError ? error.problem.fields : [];
  const missingFlags = lines.map((line) => {
    const [, field] = /^(\w+): Field required$/.exec(line) ?? [];
    const spec = flags.find(({ target }) => target?.in === "body" && target.name === field);
    return spec && input.flags[spec.flag] === undefined ? spec.flag : undefined;
  });
  const [flag] = missingFlags;
  return flag === undefined || missingFlags.includes(undefined) ? undefined : new InputRequiredError(flag, lines[0]!);
}

/** Without a terminal, missing input exits with 2 before credentials and addresses resolve (DECISIONS.md, L6, L7). */
async function completeInput(declaration: DeclaredCommand, input: CommandInput, context: Context) {
  const missing = findMissingInput(declaration, input);
  const missingNames = [
    ...missing.positionals.map(({ name }) => `<${name.replaceAll("_", "-")}>`),
    ...missing.flags.map(({ flag }) => `--${flag}`),
  ];
  if (missingNames.length + missing.body.length === 0) return input;
  if (canPrompt(context.host, context.globals)) {
    if ("id" in declaration) await rejectInvalidInput(declaration, input, context);
    else if (declaration.extendsDerived)
      await rejectInvalidInput(declaration.spec!, input, context, { mayComplete: true });
    await requireTarget(declaration, input, context);
    const { askForMissing } = await import("../prompt/missing-input.ts");
    return askForMissing(missing, input, context, declaration.words.join(" "));
  }
  if (missingNames.length === 0) return input;
  throw createMissingFieldsError(missingNames);
}

async function requireTarget(declaration: DeclaredCommand, { flags }: CommandInput, context: Context): Promise<void> {
  const service = ("id" in declaration ? declaration : declaration.spec)?.service.name;
  if (flags["dry-run"] === true) return;
  if (service === "router" || service === "contracts") await context.target(service);
}

async function supplementInput(
  declaration: CommandDeclaration,
  input: CommandInput,
  missing: InputRequiredError,
  context: Context,
): Promise<CommandInput> {
  const names = [missing.input].flat();
  const positionals = declaration.positionals.filter(({ name }) => names.includes(name));
  const flags = declaration.flags.filter(({ flag }) => names.includes(flag));
  if (positionals.length + flags.length === 0 || !canPrompt(context.host, context.globals)) throw missing;
  const { askForMissing, askForOneOf } = await import("../prompt/missing-input.ts");
  if (flags.length > 1) return askForOneOf(flags, input, context, declaration.words.join(" "));
  return askForMissing({ positionals, flags, body: [] }, input, context, declaration.words.join(" "));
}

export async function runCaptured(
  main: (argv: readonly string[], host: Host) => Promise<number>,
  argv: readonly string[],
  host: Host,
  { stdin, env, cwd = host.cwd, signal }: NestedRunOptions,
): Promise<CapturedRun> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const output = Promise.all([readAll(stdout), readAll(stderr)]);
  const exit = await main(argv, {
    ...host,
    cwd,
    inherits: false,
    stdin: Readable.from(stdin === undefined ? [] : [stdin]),
    stdout,
    stderr,
    env: { ...host.env, ...env },
    // A cancelled run leaves the process running. A signal to the process ends it by the outer run.
    end: () => {},
    onSignal(listener) {
      const stopListening = host.onSignal(listener);
      const stopWatching = signal && onAbort(signal, () => listener("SIGINT"));
      return () => {
        stopListening();
        stopWatching?.();
      };
    },
  });
  stdout.end();
  stderr.end();
  const [outputText, errorText] = await output;
  return { exit, stdout: outputText, stderr: errorText };
}
