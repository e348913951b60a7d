import type { FlagValues, PositionalValues, TypedFlag, TypedPositional } from "../../derive/command-flags.ts";
import type { CommandDeclaration, CommandSpec, FlagSpec } from "../../derive/command-spec.ts";

/** The parsed command line of any command: positionals and flags by the names of its declaration. */
export interface CommandInput {
  readonly positionals: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly flags: Readonly<Record<string, unknown>>;
  /** Arguments after `--`. */
  readonly rest: readonly string[];
}

/** The same for these flags and positionals: a name that is not among them does not compile. */
export interface CommandInputOf<
  Flags extends readonly TypedFlag[],
  Positionals extends readonly TypedPositional[] = readonly [],
> extends CommandInput {
  readonly positionals: PositionalValues<Positionals>;
  readonly flags: FlagValues<Flags>;
}

/** Declaration of a hand-written command. */
export interface WrittenDeclaration extends CommandDeclaration {
  /** Whether the words after `--` belong to it. */
  readonly passthrough?: boolean;
  /** Takes the positionals, flags and examples of the derived command of the same words next to its own. */
  readonly extendsDerived?: boolean;
  /** For commands that print no rows: bytes as they come, or lines without fields. */
  readonly prints?: "content" | "text";
  /** It sends no requests, so the options of requests would have no effect. */
  readonly sendsNothing?: boolean;
}

/** A command of the tree, as plain data; `spec` is the derived one that a hand-written one builds on. */
export type DeclaredCommand = (WrittenDeclaration & { readonly spec?: CommandSpec | undefined }) | CommandSpec;

/** A command of a group: its declaration is read when it is asked for. */
export interface ListedCommand {
  readonly words: readonly string[];
  loadDeclaration(): DeclaredCommand;
}

/** A command as help, completion and the manifest see it; a hand-written one may extend that of an operation. */
export type DescribedCommand = CommandDeclaration & { readonly spec?: CommandSpec | undefined };

/** The operation behind a command, its own or the one that it extends; empty if there is none. */
export const getUnderlyingOperation = (command: DescribedCommand): Partial<CommandSpec> => command.spec ?? command;

/** What a command line means. */
export interface InterpretedLine {
  readonly declaration: DeclaredCommand;
  readonly input: CommandInput;
  readonly globals: Readonly<Record<string, unknown>>;
}

/** The placeholder of a flag's value, here and in errors: `<FILE>`; empty for a flag without one. */
export function formatFlagValue({ flag, type, placeholder, optionalValue }: FlagSpec): string[] {
  if (type === "switch" || type === "boolean") return [];
  const name = placeholder ?? (type === "integer" || type === "number" ? "N" : getPlaceholder(flag));
  return [optionalValue ? `[${name}]` : `<${name}>`];
}

/** The source of a flag's name: `--contract-name <NAME>`. */
const getPlaceholder = (flag: string): string => flag.slice(flag.lastIndexOf("-") + 1).toUpperCase();
