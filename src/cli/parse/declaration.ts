import type { FlagValues, PositionalValues, TypedFlag, TypedPositional } from "../../derive/command-flags.ts";
import type { CommandDeclaration, CommandSpec, FlagSpec, PositionalSpec } from "../../derive/command-spec.ts";

/** Parsed input of any command: positionals and flags by declared name. */
export interface CommandInput {
  readonly positionals: Readonly<Record<string, unknown>>;
  readonly flags: Readonly<Record<string, unknown>>;
}

/** Typed input for declared flags and positionals. Undeclared names do not compile. */
export interface CommandInputOf<
  Flags extends readonly TypedFlag[],
  Positionals extends readonly TypedPositional[] = readonly [],
> extends CommandInput {
  readonly positionals: PositionalValues<Positionals>;
  readonly flags: FlagValues<Flags>;
}

export interface WrittenDeclaration extends CommandDeclaration {
  /** Whether the words after `--` are arguments of the command. */
  readonly passthrough?: boolean;
  /**
   * Whether the command adds its flags and positionals to those of the derived command with the same words. The words
   * of another derived command make this one its alias.
   */
  readonly extendsDerived?: boolean | string;
  /** Kind of output of a command that prints no rows: raw bytes, or lines without fields. */
  readonly prints?: "content" | "text";
  /** Whether the command sends no requests, so that request options have no effect. */
  readonly sendsNothing?: boolean;
}

/**
 * Command of the tree as plain data. `spec` is the derived command that a hand-written one extends. `module` is the
 * position of its module (src/cli/command-tree/written-commands.ts).
 */
export type DeclaredCommand =
  | (WrittenDeclaration & { readonly spec?: CommandSpec | undefined; readonly module?: number })
  | CommandSpec;

/** Command of a group. Its declaration is read on demand. */
export interface ListedCommand {
  readonly words: readonly string[];
  loadDeclaration(): DeclaredCommand;
}

/** Command for help, completion and the manifest. A hand-written command can extend that of an operation. */
export type DescribedCommand = CommandDeclaration &
  Pick<WrittenDeclaration, "prints"> & { readonly spec?: CommandSpec | undefined };

/**
 * Returns the operation of a command, or of the command that it extends. Empty if there is none. If the command prints
 * no rows, it has no fields.
 */
export const getUnderlyingOperation = (command: DescribedCommand): Partial<CommandSpec> => ({
  ...(command.spec ?? command),
  ...(command.prints && { fields: [] }),
});

export interface InterpretedLine {
  readonly declaration: DeclaredCommand;
  readonly input: CommandInput;
  readonly globals: Readonly<Record<string, unknown>>;
}

/** Formats the placeholder of a flag's value, if it has one: `<FILE>`. */
export function formatFlagValue({ flag, type, placeholder, optionalValue }: FlagSpec): string[] {
  if (type === "switch" || type === "boolean") return [];
  const lastWord = flag.slice(flag.lastIndexOf("-") + 1).toUpperCase();
  const name = placeholder ?? (type === "integer" || type === "number" ? "N" : lastWord);
  return [optionalValue ? `[${name}]` : `<${name}>`];
}

/** Missing required input, in the order of the prompts. */
export interface MissingInput {
  readonly positionals: readonly PositionalSpec[];
  readonly flags: readonly FlagSpec[];
  /**
   * Required fields of the body. They can also come from --data or --set, so they are never rejected here. A command
   * that reads a file asks for it instead.
   */
  readonly body: readonly FlagSpec[];
}

export function findMissingInput(
  { positionals, flags, bodyFrom }: CommandDeclaration,
  input: CommandInput,
): MissingInput {
  const isInFile = (name: string) => flags.some(({ flag, holds }) => holds === name && input.flags[flag] !== undefined);
  const isMissing = ({ flag, required }: FlagSpec) =>
    required === true && input.flags[flag] === undefined && !isInFile(flag);
  const hasBody = (bodyFrom ?? input.flags.data ?? input.flags.set) !== undefined;
  return {
    positionals: positionals.filter(({ name, optional, variadic }) => {
      const value = input.positionals[name];
      return !optional && (value === undefined || (variadic && [value].flat().length === 0));
    }),
    flags: flags.filter((flag) => flag.target?.in !== "body" && isMissing(flag)),
    body: hasBody ? [] : flags.filter((flag) => flag.target?.in === "body" && isMissing(flag)),
  };
}
