import type { Client } from "../client/client.ts";
import type { BaseUrls, Credentials } from "../client/published.d.ts";
import type { TypedFlag, TypedPositional } from "../derive/command-flags.ts";
import type { CommandSpec, FlagSpec, PositionalSpec } from "../derive/command-spec.ts";
import type { Output } from "./output/output.ts";
import type { CommandInput, CommandInputOf, InterpretedLine, WrittenDeclaration } from "./parse/declaration.ts";
import type { Globals } from "./parse/globals.ts";
import type { FailureKind } from "./process/failure.ts";
import type { Host } from "./process/host.ts";

/** A command written by hand: its declaration, and what it does. Its module imports nothing costly statically. */
export interface Command extends WrittenDeclaration {
  /** The values that its own code reads; a test compares them with the derived command. */
  readonly readsDerived?: DerivedInput;
  /**
   * Resolves when done; a failure kind or an exit code says how, if that is not plain success. `spec` is the derived
   * command, if any.
   */
  run(
    input: CommandInput,
    context: Context,
    spec: CommandSpec | undefined,
  ): Promise<FailureKind | { readonly exit: number } | undefined>;
}

interface DerivedInput {
  readonly flags?: readonly TypedFlag[];
  readonly positionals?: readonly TypedPositional[];
}

interface TypedCommand<
  Flags extends readonly FlagSpec[],
  Positionals extends readonly PositionalSpec[],
  DerivedFlags extends readonly TypedFlag[],
  DerivedPositionals extends readonly TypedPositional[],
> extends Command {
  readonly flags: Flags;
  readonly positionals: Positionals;
  readonly readsDerived?: { readonly flags?: DerivedFlags; readonly positionals?: DerivedPositionals };
  run(
    input: CommandInputOf<readonly [...Flags, ...DerivedFlags], readonly [...Positionals, ...DerivedPositionals]>,
    context: Context,
    spec: CommandSpec | undefined,
  ): ReturnType<Command["run"]>;
}

/** The command as it is. Returns its code the types that its flags and positionals have by their declaration. */
export const defineCommand = <
  const Flags extends readonly FlagSpec[],
  const Positionals extends readonly PositionalSpec[],
  const DerivedFlags extends readonly TypedFlag[] = readonly [],
  const DerivedPositionals extends readonly TypedPositional[] = readonly [],
>(
  declared: TypedCommand<Flags, Positionals, DerivedFlags, DerivedPositionals>,
): Command => declared;

/** One run of the command line, captured. */
export interface CapturedRun {
  readonly exit: number;
  readonly out: string;
  readonly err: string;
}

/**
 * Differences between a nested command line and its surroundings. `env` is added to the environment, or removes
 * variables.
 */
export interface InnerRun {
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
}

/** Target and credentials of the calls. */
export interface ServiceTarget {
  readonly baseUrls: BaseUrls;
  readonly credentials: Credentials;
  /** Reports what was chosen and why, without secrets. */
  readonly origin: string;
}

/** How a client differs from the usual one of its target. */
export interface ClientChoice {
  /** State of the running emulator that is meant. */
  readonly file?: string | undefined;
  readonly connections?: number;
  /** Next to those of the target. */
  readonly credentials?: Credentials | undefined;
}

/** Context of a command. Costly parts are functions, called late. */
export interface Context {
  readonly host: Host;
  /** The command line of this run, without `svc`. */
  readonly argv: readonly string[];
  readonly globals: Globals;
  readonly output: Output;
  /** Aborted by Ctrl-C, SIGTERM, SIGHUP, or a reader that went away. */
  readonly signal: AbortSignal;
  /** Aborted a little later, for work that has to finish first: after that, everything is killed. */
  readonly cut: AbortSignal;
  /** Addresses of the services; for the emulator's control plane, `file` names the state of a running one. */
  target(service: keyof BaseUrls, file?: string): Promise<ServiceTarget>;
  /** A client for that target. All clients are closed at the end of the run. */
  client(service: keyof BaseUrls, options?: ClientChoice): Promise<Client>;
  /** Runs another command line in this process and captures what it prints. */
  svc(argv: readonly string[], options?: InnerRun): Promise<CapturedRun>;
  /** What another command line means, with texts for values; undefined where it prints a page, or cannot be parsed. */
  read(argv: readonly string[]): Promise<InterpretedLine | undefined>;
  /** Asks y/N, default no. Only where asking is allowed; otherwise a usage error that names `flag`. */
  confirm(question: string, flag: string): Promise<boolean>;
  /** Runs at the end, whatever happens; the last one first. */
  atEnd(close: () => Promise<void>): void;
  /** Does the work while another program has the terminal, where there is one: Ctrl-C is a key of that program then. */
  lendTerminal<T>(work: () => Promise<T>): Promise<T>;
  /** Runs when the process is ended at once: at a second signal, or when a stopped run continues for too long. */
  atForcedEnd(last: () => void): void;
  /** A run that serves others is given longer to end once it is stopped, milliseconds. */
  allowToEnd(ms: number): void;
  /** A run that holds a state is given longer to write it, once it serves nothing any more. Milliseconds. */
  allowToClose(ms: number): void;
  /** Runs work that waits for a program which gets the signals, for as long as that takes to end. */
  outlast<T>(work: () => Promise<T>): Promise<T>;
}
