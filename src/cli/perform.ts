import { namesCollector } from "../base/tracing/otel-settings.ts";
import { NetworkError, ServiceError } from "../client/errors.ts";
import type { CommandDeclaration } from "../derive/command-spec.ts";
import type { Command, Context, Input } from "./command.ts";
import { withNextMove, withWhatThereIs } from "./connection/what-there-is.ts";
import { createContext } from "./context.ts";
import type { Declared } from "./declared.ts";
import { runDerived } from "./derived.ts";
import { exitCodeOf, explain, signalCodes } from "./exit.ts";
import { InputRequired, Interrupted, PartialFailure, UsageError } from "./failure.ts";
import type { Host } from "./host.ts";
import { createOutput } from "./output/output.ts";
import { type Globals, readGlobals } from "./parse/globals.ts";
import type { Invocation } from "./parse/parser.ts";
import { positionalValue } from "./parse/values.ts";
import { completed, supplemented } from "./prompt/required.ts";
import type { Stopping } from "./stopping.ts";
import { writtenCommand } from "./written-commands.ts";

/** Runs the command that a line means, with what a person is asked for. `svc` runs another one within it. */
export function perform(...run: Parameters<typeof performed>): Promise<number> {
  const [, , host] = run;
  return namesCollector(host.env) ? performTraced(...run) : performed(...run);
}

async function performed(
  { declaration, input, globals: given }: Invocation<Declared>,
  argv: readonly string[],
  host: Host,
  stopping: Stopping,
  svc: Context["svc"],
): Promise<number> {
  const globals = readGlobals(given);
  refuseUnused(declaration, globals, given);
  const output = createOutput(host, globals);
  const context = createContext(host, argv, globals, output, stopping, svc);
  try {
    const result = await carriedOut(declaration, await completed(declaration, input, context), context);
    if (result === undefined) return 0;
    return typeof result === "string" ? exitCodeOf[result] : result.exit;
  } catch (error) {
    if (error instanceof Interrupted && !stopping.name) stopping.interrupt("SIGINT");
    throw error;
  } finally {
    await context.close();
  }
}

const optionsOfRequests = ["timeout", "retries", "max-wait", "max-answer"];

/** Refuses options that would have no effect. */
function refuseUnused(declaration: Declared, globals: Globals, given: Invocation<Declared>["globals"]): void {
  refuseLayout(declaration, globals);
  const sendsNothing = !("operation" in declaration) && declaration.sendsNothing === true;
  const unused = sendsNothing ? optionsOfRequests.find((name) => given[name] !== undefined) : undefined;
  if (unused !== undefined) {
    throw new UsageError(`--${unused} cannot be used with svc ${declaration.words.join(" ")}`, {
      hint: "It sends no requests.",
    });
  }
}

/** What is handed on as it came has no fields and no other format, and what prints nothing has neither. */
function refuseLayout(declaration: Declared, { fields, format, wide }: Globals): void {
  const output = outputOf(declaration);
  const isContent = output === "bytes" || output === "html" || output === "content";
  const isOther = format !== undefined && format !== "json";
  const flag = fields !== undefined ? "--fields" : isOther ? "--format" : wide ? "--wide" : undefined;
  const isRefused = flag === "--format" ? isContent : isContent || output === "empty" || output === "text";
  if (flag === undefined || !isRefused) return;
  throw new UsageError(`${flag} cannot be used with svc ${declaration.words.join(" ")}`, {
    hint: isContent ? "It prints what the service sends, as it comes." : "It prints no fields and no table.",
  });
}

function outputOf(declaration: Declared): string | undefined {
  if ("operation" in declaration) return declaration.output;
  return declaration.prints ?? (declaration.extendsDerived ? declaration.spec?.output : undefined);
}

/** The same, told to a collector: what the command calls and starts belongs to its trace. */
async function performTraced(...[invocation, argv, host, stopping, svc]: Parameters<typeof perform>): Promise<number> {
  const { OwnSpan } = await import("./trace/own-span.ts");
  const span = OwnSpan.begin(host, invocation.declaration.words);
  if (!span) return performed(invocation, argv, host, stopping, svc);
  const env = span.variables;
  // Not a copy: to read standard input is to open it.
  const traced: Host = Object.create(host, { env: { value: { ...host.env, ...env } } });
  const inner: Context["svc"] = (line, how) => svc(line, { ...how, env: { ...env, ...how?.env } });
  try {
    const exit = await performed(invocation, argv, traced, stopping, inner);
    await span.end(exit, undefined, stopping.cut);
    return exit;
  } catch (error) {
    await span.end(stopping.name ? signalCodes[stopping.name] : explain(error).exitCode, error, stopping.cut);
    throw error;
  }
}

/** Runs the command, anew whenever it was asked for something that it turned out to need. */
async function carriedOut(declaration: Declared, input: Input, context: Context): ReturnType<Command["run"]> {
  for (let given = input; ; ) {
    const whole = typed(declaration, given);
    try {
      if ("operation" in declaration) return await runDerived(declaration, whole, context);
      return await (await writtenCommand(declaration.words)).run(whole, context, declaration.spec);
    } catch (error) {
      if (!(error instanceof InputRequired)) {
        const known = await withWhatThereIs(error, declaration, whole);
        throw await withEnded(withNextMove(known, whole), context);
      }
      given = await supplemented(declaration, given, error, context);
    }
  }
}

/** Where nobody answers any more, this folder may know of who does; and who refuses may be another than was meant. */
async function withEnded(error: unknown, context: Context): Promise<unknown> {
  const isRefused = error instanceof ServiceError && error.status === 401;
  if (!isRefused && !(error instanceof NetworkError && error.code === "ECONNREFUSED")) return error;
  const { hintOfEnded, hintOfRefused } = await import("./connection/ended-emulator.ts");
  const hint = isRefused ? await hintOfRefused(error, context) : await hintOfEnded(error, context);
  return hint === undefined ? error : new PartialFailure(error, [], { hint });
}

function typed({ positionals: declared }: CommandDeclaration, input: Input): Input {
  const positionals = Object.fromEntries(
    declared.map(({ name, type = "text", choices }) => {
      const given = input.positionals[name];
      return [name, typeof given === "string" ? positionalValue(name, given, type, choices) : given];
    }),
  );
  return { ...input, positionals: positionals as Input["positionals"] };
}
