import type { CommandDeclaration, FlagSpec, PositionalSpec } from "../../derive/command-spec.ts";
import type { CommandInput } from "../parse/declaration.ts";

/** Finds missing required input, in the order of the questions. */
export interface MissingInput {
  readonly positionals: readonly PositionalSpec[];
  readonly flags: readonly FlagSpec[];
  /** Fields of the body may also come from --data or --set, so they are only asked for and never rejected here. */
  readonly body: readonly FlagSpec[];
}

export function findMissingInput(
  { positionals, flags, bodyFrom = [] }: CommandDeclaration,
  input: CommandInput,
): MissingInput {
  const isInFile = (name: string) => flags.some(({ flag, holds }) => holds === name && input.flags[flag] !== undefined);
  const isMissing = ({ flag, required }: FlagSpec) =>
    required === true && input.flags[flag] === undefined && !isInFile(flag);
  const isGiven = (name: string) => input.positionals[name] !== undefined || input.flags[name] !== undefined;
  const hasBody = ["data", "set", ...bodyFrom].some(isGiven);
  return {
    positionals: positionals.filter(({ name, optional, variadic }) => {
      const value = input.positionals[name];
      return !optional && (value === undefined || (variadic && value.length === 0));
    }),
    flags: flags.filter((flag) => flag.target?.in !== "body" && isMissing(flag)),
    body: hasBody ? [] : flags.filter((flag) => flag.target?.in === "body" && isMissing(flag)),
  };
}
