import type { Client } from "../client/client.ts";
import type { BaseUrls, Credentials } from "../client/published.d.ts";
import type { TypedFlag, TypedPositional } from "../derive/command-flags.ts";
import type { CommandSpec, FlagSpec, PositionalSpec } from "../derive/command-spec.ts";
import type { Output } from "./output/output.ts";
import type { CommandInput, CommandInputOf, InterpretedLine, WrittenDeclaration } from "./parse/declaration.ts";
import type { GlobalOptions } from "./parse/globals.ts";
import type { FailureKind } from "./process/failure.ts";
import type { Host } from "./process/host.ts";
import { type ExampleNotation, toExample } from "./process/shell-words.ts";
import type { ShutdownController } from "./process/shutdown-controller.ts";

/** Hand-written command: its declaration and its action. Its module imports no expensive module statically. */
export interface Command extends Omit<WrittenDeclaration, "summary"> {
  /** Omitted if it is that of the extended command. */
  readonly summary?: string | undefined;
  /** Values of the derived input that the command's own code reads. A test compares them with the derived command. */
  readonly readsDerived?: { readonly flags?: readonly TypedFlag[]; readonly positionals?: readonly TypedPositional[] };
  /** Resolves when the command is done. `spec` is the derived command, if any. */
  run(input: CommandInput, context: Context, spec: CommandSpec | undefined): CommandOutcome;
}

/** Outcome of a command. A failure kind or an exit code reports an outcome other than success. */
type CommandOutcome = Promise<FailureKind | { readonly exit: number } | undefined> | Promise<void>;

interface TypedCommand<
  Flags extends readonly FlagSpec[],
  Positionals extends readonly PositionalSpec[],
  DerivedFlags extends readonly TypedFlag[],
  DerivedPositionals extends readonly TypedPositional[],
> extends Omit<Command, "flags" | "positionals" | "examples" | "run"> {
  readonly flags?: Flags;
  readonly positionals?: Positionals;
  readonly examples?: readonly ExampleNotation[];
  readonly readsDerived?: { readonly flags?: DerivedFlags; readonly positionals?: DerivedPositionals };
  run(
    input: CommandInputOf<readonly [...Flags, ...DerivedFlags], readonly [...Positionals, ...DerivedPositionals]>,
    context: Context,
    spec: CommandSpec | undefined,
  ): CommandOutcome;
}

/** Only a command that extends a derived one can omit its summary. */
type Summary = { readonly summary: string } | { readonly extendsDerived: true | string };

/** Derives the types of the input from the declaration. Omitted positionals, flags and examples are empty. */
export const defineCommand = <
  const Flags extends readonly FlagSpec[] = readonly [],
  const Positionals extends readonly PositionalSpec[] = readonly [],
  const DerivedFlags extends readonly TypedFlag[] = readonly [],
  const DerivedPositionals extends readonly TypedPositional[] = readonly [],
>(
  command: TypedCommand<Flags, Positionals, DerivedFlags, DerivedPositionals> & Summary,
): Command =>
  ({ positionals: [], flags: [], ...command, examples: (command.examples ?? []).map(toExample) }) as Command;

export interface CapturedRun {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Differences between a nested command line and its parent. `env` adds or removes variables. */
export interface NestedRunOptions {
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Ends the run like Ctrl-C. */
  readonly signal?: AbortSignal;
}

export interface ServiceTarget {
  readonly baseUrls: BaseUrls;
  readonly credentials: Credentials;
  /** Description of the selected target and the reason, without secrets. */
  readonly origin: string;
}

interface TargetClientOptions {
  readonly file?: string | undefined;
  readonly connections?: number;
  /** Added to the credentials of the target. */
  readonly credentials?: Credentials | undefined;
}

/** Context of a command. Expensive parts are functions that are called on demand. */
export interface Context {
  readonly host: Host;
  readonly argv: readonly string[];
  readonly globals: GlobalOptions;
  readonly output: Output;
  /** Aborted by Ctrl-C, SIGTERM, SIGHUP or a closed output. */
  readonly signal: AbortSignal;
  /** Aborted shortly after `signal`, for work that must finish first. The process is terminated afterwards. */
  readonly forceSignal: AbortSignal;
  /** Resolves the addresses of the services. For the control plane, `file` selects the emulator by its state. */
  target(service: keyof BaseUrls, file?: string): Promise<ServiceTarget>;
  /**
   * Creates a client for that target. `signal` aborts its calls, unless a call has a signal of its own. All clients are
   * closed at the end of the run.
   */
  client(service: keyof BaseUrls, options?: TargetClientOptions): Promise<Client>;
  /** Runs another command line in this process and captures its output. */
  svc(argv: readonly string[], options?: NestedRunOptions): Promise<CapturedRun>;
  /** Interprets another command line, with strings as values, unless it prints a page or is invalid. */
  parseLine(argv: readonly string[]): Promise<InterpretedLine | undefined>;
  /** Prompts y/N (default: no). Throws a UsageError that names `flag` if prompts are not allowed. */
  confirm(question: string, flag: string): Promise<boolean>;
  /** Registers a cleanup for the end of the run. Cleanups run in reverse order. */
  onEnd(close: () => Promise<void>): void;
  readonly shutdown: ShutdownController;
}
