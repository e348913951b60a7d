import { PassThrough, Readable, Writable } from "node:stream";
import { ServiceError } from "../client/errors.ts";
import type { CommandDeclaration, CommandSpec } from "../derive/command-spec.ts";
import type { Captured, Command, Context, InnerRun, Input } from "./command.ts";
import { readProfiles } from "./config/profile.ts";
import { createContext } from "./context.ts";
import { runDerived } from "./derived.ts";
import {
  type Explanation,
  exitCodeOf,
  explain,
  explanationJson,
  explanationLines,
  interruption,
  signalCodes,
  stackLines,
  withoutSecrets,
} from "./exit.ts";
import { CommandFailed, InputRequired, Interrupted, PartialFailure, UsageError } from "./failure.ts";
import { groupNames, groups } from "./groups.ts";
import { helpText } from "./help/help.ts";
import type { Host } from "./host.ts";
import { nextArgv } from "./next.ts";
import { annotate, annotates } from "./output/github-actions.ts";
import { createOutput } from "./output/output.ts";
import { printerOn } from "./output/print.ts";
import { locate, normalised, placeGiven } from "./parse/argv.ts";
import { readGlobals } from "./parse/globals.ts";
import type { Invocation, Parser } from "./parse/parser.ts";
import { positionalValue } from "./parse/values.ts";
import { completed, supplemented } from "./prompt/required.ts";
import { derivedAlone, specsOf } from "./specs.ts";
import { Stopping } from "./stopping.ts";

/** A command of the tree; `spec` is the derived one that a hand-written one builds on. */
type Declared = (Command & { readonly spec?: CommandSpec | undefined }) | CommandSpec;

/**
 * Runs one command line: `argv` is what follows `svc`. The promise never rejects; it is the exit code
 * (src/cli/exit.ts). Nothing is read or written but through the host.
 */
export async function main(argv: readonly string[], host: Host): Promise<number> {
  const args = normalised(argv);
  const stopping = new Stopping(host);
  let readerGone = false;
  let unwritten: NodeJS.ErrnoException | undefined;
  const onOutputError = (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") readerGone = true;
    else unwritten ??= error;
    stopping.stop();
  };
  // What nobody reads on standard error is lost; it stops no work.
  const onNoteError = () => {};
  host.stdout.on("error", onOutputError);
  host.stderr.on("error", onNoteError);
  const stopListening = host.onSignal((name) => stopping.interrupt(name));
  try {
    const code = await run(args, host, stopping);
    if (unwritten) return reported(explain(lost(unwritten)), unwritten, args, host);
    return readerGone ? 0 : code;
  } catch (error) {
    // A reader that went away has seen enough (DECISIONS.md, L3).
    if (readerGone) return 0;
    if (unwritten) return reported(explain(lost(unwritten)), unwritten, args, host);
    const { name } = stopping;
    if (name && error instanceof PartialFailure) return reported(interruption(error, name), error, args, host);
    if (name) return signalCodes[name];
    return reported(explain(error), error, args, host);
  } finally {
    stopListening();
    stopping.ended();
    host.stdout.off("error", onOutputError);
    host.stderr.off("error", onNoteError);
  }
}

const lost = (cause: NodeJS.ErrnoException): CommandFailed =>
  new CommandFailed("failed", "output_lost", `Failed to write to standard output: ${cause.code ?? cause.message}.`, {
    hint: "What was to be printed is lost; what was to be done may be done. Look before you run it again.",
    cause,
  });

async function run(argv: readonly string[], host: Host, stopping: Stopping): Promise<number> {
  if (argv[0] === "complete") return complete(argv.slice(argv.indexOf("--") + 1), host);
  const { words, wantsHelp } = locate(argv);
  const isVersion = ["--version", "-V", "-v"].some((flag) => argv.includes(flag)) && words.length === 0;
  if (isVersion || (words.length === 1 && words[0] === "version")) return printed(host, `${host.version}\n`);
  if (wantsHelp || words.length === 0 || words[0] === "help") return help(argv, host);

  const parser = await parserFor(words);
  try {
    const chosen = parser.isGroup(words) ? undefined : parser.parse(argv);
    return await (chosen ? perform(chosen, argv, host, stopping) : help(argv, host));
  } catch (error) {
    throw error instanceof UsageError ? error.withHint(`See ${parser.helpLine(words)}.`) : error;
  }
}

async function perform(
  { declaration, input, globals: given }: Invocation<Declared>,
  argv: readonly string[],
  host: Host,
  stopping: Stopping,
): Promise<number> {
  const globals = readGlobals(given);
  const output = createOutput(host, globals);
  const svc = (inner: readonly string[], options = {}) => captured(inner, host, options);
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

/** Runs the command, anew whenever it was asked for something that it turned out to need. */
async function carriedOut(declaration: Declared, input: Input, context: Context): ReturnType<Command["run"]> {
  for (let given = input; ; ) {
    const whole = typed(declaration, given);
    try {
      if ("run" in declaration) return await declaration.run(whole, context, declaration.spec);
      return await runDerived(declaration, whole, context);
    } catch (error) {
      if (!(error instanceof InputRequired)) throw await withList(error, declaration);
      given = await supplemented(declaration, given, error, context);
    }
  }
}

/** What is not there is said to be missing by its service; the list beside the command says what there is. */
async function withList(error: unknown, { words }: Declared): Promise<unknown> {
  if (!(error instanceof ServiceError) || error.status !== 404 || error.problem.hint !== undefined) return error;
  const list = [...words.slice(0, -1), "list"];
  const known = await declarationsOf(words[0]!);
  const isThere = known.some((one) => one.words.join(" ") === list.join(" "));
  return isThere && words.at(-1) !== "list" ? new PartialFailure(error, [], { next: list }) : error;
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

/** The tree as far as the words need it. Pages of help do without: the parser's library is loaded late. */
async function parserFor(words: readonly string[]): Promise<Parser<Declared>> {
  const [{ Parser }, names] = await Promise.all([import("./parse/parser.ts"), groupNames()]);
  const group = names.find((name) => name === words[0]);
  if (group === undefined) return new Parser<Declared>(names, [], words);
  const derived = derivedAlone(await specsOf(group), words);
  return new Parser<Declared>(names, derived ? [derived] : await declarationsOf(group), words);
}

/** A hand-written command stands for the derived one of the same words. */
export async function declarationsOf(group: string): Promise<readonly Declared[]> {
  const [specs, written] = await Promise.all([specsOf(group), groups[group]?.commands?.()]);
  const byWords = new Map(specs.map((spec) => [spec.words.join(" "), spec]));
  const own = (written?.commands ?? []).map((command) => {
    const spec = byWords.get(command.words.join(" "));
    byWords.delete(command.words.join(" "));
    return spec && command.extendsDerived ? extended(command, spec) : { ...command, spec };
  });
  return [...own, ...byWords.values()];
}

function extended(command: Command, spec: CommandSpec): Declared {
  const flags = new Set(command.flags.map(({ flag }) => flag));
  return {
    ...command,
    spec,
    ...(command.description === undefined && spec.description !== undefined ? { description: spec.description } : {}),
    positionals: [...command.positionals, ...spec.positionals],
    flags: [...command.flags, ...spec.flags.filter(({ flag }) => !flags.has(flag))],
    examples: [...command.examples, ...spec.examples],
  };
}

async function help(argv: readonly string[], host: Host): Promise<number> {
  const check = async (line: readonly string[]) => void (await parserFor(locate(line).words)).parse(line);
  return printed(host, await helpText(argv, host, { declarationsOf, check }));
}

/** What the shells ask at each Tab. */
async function complete(words: readonly string[], host: Host): Promise<number> {
  const { completionsFor } = await import("./completion/answer.ts");
  const names = new Set(await groupNames());
  return printed(
    host,
    await completionsFor(words, {
      groups: [
        ...[...names].map((value) => ({ value, about: groups[value]?.summary ?? "" })),
        { value: "help", about: "Show help for a command or a topic" },
      ],
      declarations: async (group) => (names.has(group) ? declarationsOf(group) : []),
      profiles: async () => {
        return Object.keys((await readProfiles(host.env).catch(() => ({ profiles: {} }))).profiles);
      },
    }),
  );
}

async function printed(host: Host, text: string): Promise<number> {
  await printerOn(host, false).text("stdout", text);
  return 0;
}

async function reported(found: Explanation, error: unknown, argv: readonly string[], host: Host): Promise<number> {
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

/** Runs another command line in this process, without a terminal, and keeps what it prints. */
async function captured(
  argv: readonly string[],
  host: Host,
  { stdin, env, cwd = host.cwd }: InnerRun,
): Promise<Captured> {
  const [out, err] = [collector(), collector()];
  const input = stdin === undefined ? new PassThrough().end() : Readable.from([stdin]);
  const exit = await main(argv, {
    ...host,
    cwd,
    inherits: false,
    stdin: input,
    stdout: out.stream,
    stderr: err.stream,
    env: { ...host.env, ...env },
  });
  return { exit, out: out.text(), err: err.text() };
}

function collector(): { stream: Writable; text: () => string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString("utf8") };
}
