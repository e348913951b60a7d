import { parseDuration } from "../../base/duration.ts";
import type { FlagSpec, ValueType } from "../../derive/command-spec.ts";
import { UsageError } from "../process/failure.ts";
import { isBareWord, readTokens, runsInnerCommand, splitAtSeparator, startsWithWords, type Token } from "./argv.ts";
import { type DeclaredCommand, formatFlagValue, type InterpretedLine } from "./declaration.ts";
import { globalFlags } from "./globals.ts";
import { suggestPartialName, suggestSimilarName } from "./suggestions.ts";
import { convertValue, extractContractNumber, InvalidValueError } from "./values.ts";

const pageFlags: readonly string[] = ["-h", "--help", "-V", "--version"];

/** Part of the command tree that a command line needs: the command with its words, or all candidates of its group. */
export class Parser {
  readonly #groups: readonly string[];
  readonly #declarations: readonly DeclaredCommand[];

  constructor(groups: readonly string[], declarations: readonly DeclaredCommand[]) {
    this.#groups = groups;
    this.#declarations = declarations;
  }

  /** Parses the command line. Throws UsageError. Returns undefined if the line requests a page instead of a command. */
  parse(argv: readonly string[]): InterpretedLine | undefined {
    const path = this.#findPath(argv);
    const command = this.#declarations.find(({ words }) => areEqual(words, path));
    // A command that redefines a global flag, such as --format, declares it.
    const globals = globalFlags.map((global) => command?.flags.find(({ flag }) => flag === global.flag) ?? global);
    const ownFlags = command?.flags.filter((spec) => !globals.includes(spec)) ?? [];
    const operatorFlags = findOperatorFlags(ownFlags, argv);
    const flags = [...ownFlags, ...operatorFlags];
    const tokens = [...readTokens(argv, [...flags, ...globals])];
    const globalValues = collectValues(tokens, globals);
    const values = collectValues(tokens, flags);
    // The words of the command come first, because an unknown option ends the path.
    const unclaimed = tokens.filter(({ spec }) => spec === undefined).slice(path.length);
    if (unclaimed.some(({ word }) => pageFlags.includes(word))) return undefined;
    const operands = [...unclaimed.filter(isOperand).map(({ word }) => word), ...splitAtSeparator(argv)[1]];
    const unknownOption = unclaimed.find((token) => !isOperand(token));
    const isOptionFirst = unknownOption !== undefined && unclaimed[0] === unknownOption;
    if (!command && operands[0] !== undefined && !isOptionFirst)
      throw this.#createUnknownCommandError(operands[0], path);
    if (unknownOption) throw createUnknownOptionError(unknownOption.word, command, flags);
    if (!command) return undefined;
    rejectExtraArguments(command, operands, argv);
    const positionals = command.positionals.map(({ name, variadic }, i) => [
      name,
      variadic ? operands.slice(i) : operands[i],
    ]);
    return {
      declaration: operatorFlags.length === 0 ? command : { ...command, flags: [...command.flags, ...operatorFlags] },
      globals: globalValues,
      input: {
        positionals: Object.fromEntries(positionals),
        flags: values,
        rest: runsInnerCommand(command) ? operands : [],
      },
    };
  }

  /** Returns the words up to the first one that is no command. */
  #findPath(argv: readonly string[]): readonly string[] {
    const words = [...readTokens(argv, [])].filter(({ spec }) => spec === undefined).map(({ word }) => word);
    return words.slice(0, this.#countKnown(words));
  }

  #countKnown(words: readonly string[]): number {
    const first = words.findIndex((_, i) => !this.#listNext(words.slice(0, i)).includes(words[i]!));
    return first < 0 ? words.length : first;
  }

  /** Lists the words that can follow the words of a group. */
  #listNext(path: readonly string[]): readonly string[] {
    if (path.length === 0) return this.#groups;
    return this.#declarations.flatMap(({ words }) => (startsWithWords(words, path) ? (words[path.length] ?? []) : []));
  }

  #createUnknownCommandError(word: string, path: readonly string[]): UsageError {
    const known = [...this.#listNext(path), ...(path.length === 0 ? ["help"] : [])];
    return new UsageError(`unknown command '${word}'`, { hint: suggestSimilarName(word, known) });
  }

  formatHelpLine(words: readonly string[]): string {
    return ["svc", ...words.slice(0, this.#countKnown(words)), "--help"].join(" ");
  }

  /** Reports whether the words name only a group of commands and no command to run. */
  isGroup(words: readonly string[]): boolean {
    return this.#listNext(words).length > 0 && !this.#declarations.some((command) => areEqual(command.words, words));
  }
}

const areEqual = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && startsWithWords(a, b);

const isOperand = ({ word }: Token): boolean => isBareWord(word);

/** Converts the values of these flags. Throws UsageError for a missing, invalid or repeated value. */
function collectValues(tokens: readonly Token[], flags: readonly FlagSpec[]): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const { spec, value } of tokens) {
    if (spec === undefined || !flags.includes(spec)) continue;
    const { flag, repeatable, choices } = spec;
    const previous = values[flag];
    if (value === undefined) throw new UsageError(`--${flag} requires a value: ${formatFlagValue(spec).join("")}`);
    if (typeof value === "boolean") values[flag] = value;
    else if (repeatable) {
      // No choice contains a comma, so a list of choices is one word.
      const words = choices ? value.split(",").map((word) => word.trim()) : [value];
      values[flag] = [...(Array.isArray(previous) ? previous : []), ...words.map((word) => parseValue(word, spec))];
    }
    // The last value would win silently.
    else if (previous !== undefined) throw new UsageError(`--${flag} can be given only once`);
    else values[flag] = parseValue(value, spec);
  }
  return values;
}

function parseValue(text: string, spec: FlagSpec): unknown {
  try {
    return convertValue(extractContractNumber(spec.flag, text, spec.type), spec.type as ValueType, spec.choices, spec);
  } catch (error) {
    if (!(error instanceof InvalidValueError)) throw error;
    throw new UsageError(`--${spec.flag} ${error.message}`, { hint: error.hint, cause: error });
  }
}

function createUnknownOptionError(
  word: string,
  command: DeclaredCommand | undefined,
  flags: readonly FlagSpec[],
): UsageError {
  const message = `unknown option '${word}'`;
  if (command && runsInnerCommand(command)) {
    // The option before `--` belongs to svc, but was probably meant for the command to run.
    const line = `svc ${command.words.slice(0, 2).join(" ")} [options] -- COMMAND [its options]`;
    return new UsageError(message, { hint: `Options of the command that is run come after --: ${line}` });
  }
  const known = [...globalFlags, ...flags];
  const names = known.flatMap(({ flag, type }) => (type === "boolean" ? [flag, `no-${flag}`] : [flag]));
  const [name = ""] = word.replace(/^-+/, "").split("=", 1);
  const partialName = suggestPartialName(name, [...new Set(known.map(({ flag }) => flag))]);
  const allOptions = [...names, "version", "help"].map((option) => `--${option}`);
  return new UsageError(message, {
    hint: partialName ?? (word.startsWith("--") ? suggestSimilarName(word, allOptions) : undefined),
  });
}

/** Names the extra word, and the option that accepts it. */
function rejectExtraArguments(
  { words, positionals, flags }: DeclaredCommand,
  operands: readonly string[],
  argv: readonly string[],
): void {
  const extra = operands[positionals.length];
  if (extra === undefined || positionals.at(-1)?.variadic) return;
  const acceptedArguments = positionals.map(({ name }) => `<${name.replaceAll("_", "-")}>`);
  const acceptedInput = acceptedArguments.length === 0 ? "options alone" : `${acceptedArguments.join(" ")} and options`;
  const isFieldList = argv[argv.indexOf(extra) - 1] === "--json";
  const flag = findFlagFor(extra, flags);
  const option = isFieldList ? `--json=${extra}` : flag && `--${flag} ${extra}`;
  throw new UsageError(`too many arguments: svc ${words.join(" ")} takes ${acceptedInput}, not "${extra}" as well`, {
    hint: option === undefined ? undefined : `Did you mean ${option}?`,
  });
}

function findFlagFor(word: string, flags: readonly FlagSpec[]): string | undefined {
  const candidates = [
    { is: parseDuration(word) !== undefined, names: ["by", "within"] },
    { is: /^\d{4}-\d\d-\d\d/.test(word), names: ["to", "since"] },
    { is: /^[TH]-\d+$/.test(word), names: ["contract", "contract-ids"] },
  ];
  const names = candidates.find(({ is }) => is)?.names ?? [];
  return names.find((name) => flags.some(({ flag }) => flag === name));
}

/** Declares options with an operator, such as `--filter-created-at[$gt]`, for flags that support operators. */
function findOperatorFlags(flags: readonly FlagSpec[], argv: readonly string[]): FlagSpec[] {
  const operatorWords = new Set(argv.filter((token) => token.includes("[$")).map((token) => token.split("=", 1)[0]!));
  return [...operatorWords].flatMap((option) => {
    const [, name, operator] = /^--([\w-]+)(\[\$\w+\])$/.exec(option) ?? [];
    const plain = flags.find(({ flag, takesOperator }) => takesOperator && flag === name);
    if (plain?.target === undefined) return [];
    const target = { ...plain.target, name: `${plain.target.name}${operator}` };
    return [{ ...plain, flag: `${name}${operator}`, target }];
  });
}
