import { Command as Commander, CommanderError, Option } from "commander";
import { parseDuration } from "../../base/quantities.ts";
import type { FlagSpec, ValueType } from "../../derive/command-spec.ts";
import { UsageError } from "../process/failure.ts";
import {
  areWordsEqual,
  findFlag,
  isBareWord,
  locateCommand,
  runsInnerCommand,
  skipFlagValues,
  startsWithWords,
} from "./argv.ts";
import { type DeclaredCommand, formatFlagValue, type InterpretedLine, type ListedCommand } from "./declaration.ts";
import { globalFlags } from "./globals.ts";
import { suggestPartialName } from "./suggestions.ts";
import { convertValue, extractContractNumber, parsePositional } from "./values.ts";

/** Creates the parser of one group. It reads only the declaration of the command that the line names. */
export function createParser(groups: readonly string[], commands: readonly ListedCommand[]) {
  return { parse, formatHelpLine, isGroup };

  /**
   * Parses the command line. Throws UsageError. Returns undefined if the line requests a page instead of a command. The
   * library gets the one command that the words name, because it would give a flag to the command above that has the
   * same flag. `adjust` maps the declaration before parsing.
   */
  function parse(
    argv: readonly string[],
    adjust = (declaration: DeclaredCommand): DeclaredCommand => declaration,
  ): InterpretedLine | undefined {
    const wordPositions = findCommandWords(argv);
    const path = wordPositions.map((position) => argv[position]!);
    const listedCommand = commands.find(({ words }) => areWordsEqual(words, path));
    const command = listedCommand && adjust(listedCommand.loadDeclaration());
    // A command that redefines a global flag, such as --format, declares it.
    const globals = globalFlags.map((global) => command?.flags.find(({ flag }) => flag === global.flag) ?? global);
    const ownFlags = command?.flags.filter((spec) => !globals.includes(spec)) ?? [];
    const operatorFlags = findOperatorFlags(ownFlags, argv);
    const flags = [...ownFlags, ...operatorFlags];
    const isSeparated = argv.includes("--") && argv.at(-1) !== "--";
    if (!command && isSeparated && locateCommand(argv).words.length === path.length)
      throw new UsageError("-- must follow a command");
    const options = new Map([...globals, ...flags].map((spec) => [spec, createOption(spec)]));
    const program = createProgram(options, command);
    if (path.length === 0) program.helpCommand("help [topic]");
    // The names are for the suggestions of an unknown command.
    if (!command) for (const name of new Set(listNext(path))) silenceOutput(program.command(name));
    rejectForgottenValues(argv, [...flags, ...globals]);
    const rest = argv.filter((_, position) => !wordPositions.includes(position));
    const error = findFailure(program, rest);
    if (error) throw explainUnknownOption(error, [...globals, ...flags], command);
    if (!command) return undefined;
    rejectExtraArguments(command, program.args, argv);
    const positionals = command.positionals.map((spec, i) => [
      spec.name,
      parsePositional(spec, program.processedArgs[i]),
    ]);
    return {
      declaration: operatorFlags.length === 0 ? command : { ...command, flags: [...command.flags, ...operatorFlags] },
      globals: readValues(program, globals, options),
      input: { positionals: Object.fromEntries(positionals), flags: readValues(program, flags, options) },
    };
  }

  /** Returns the positions of the words up to the first one that is no command, or to an unknown option. */
  function findCommandWords(argv: readonly string[]): readonly number[] {
    const positions: number[] = [];
    for (const [position, word] of skipFlagValues(argv, [])) {
      if (isGlobalOption(word)) continue;
      if (!listNext(positions.map((at) => argv[at]!)).includes(word)) break;
      positions.push(position);
    }
    return positions;
  }

  function listNext(path: readonly string[]): readonly string[] {
    if (path.length === 0) return groups;
    return commands.flatMap(({ words }) => (startsWithWords(words, path) ? (words[path.length] ?? []) : []));
  }

  function formatHelpLine(words: readonly string[]): string {
    const unknown = words.findIndex((word, i) => !listNext(words.slice(0, i)).includes(word));
    return ["svc", ...words.slice(0, unknown < 0 ? undefined : unknown), "--help"].join(" ");
  }

  /** Reports whether the words name only a group of commands and no command to run. */
  function isGroup(words: readonly string[]): boolean {
    return listNext(words).length > 0 && !commands.some((command) => areWordsEqual(command.words, words));
  }
}

/** Recognizes `--profile`, `--profile=NAME`, `--no-color` and `-qy`. */
const isGlobalOption = (word: string): boolean =>
  findFlag(word.split("=", 1)[0]!, []) !== undefined ||
  (/^-\w+$/.test(word) && [...word.slice(1)].every((letter) => findFlag(`-${letter}`, [])));

/** svc formats its own pages (src/cli/help). The parser only parses and throws errors. */
const silenceOutput = (command: Commander): Commander =>
  command
    .exitOverride()
    .helpCommand(false)
    .configureOutput({ writeOut: () => {}, writeErr: () => {}, outputError: () => {} });

type OptionBySpec = ReadonlyMap<FlagSpec, Option>;

function createProgram(options: OptionBySpec, command: DeclaredCommand | undefined): Commander {
  const program = silenceOutput(new Commander("svc")).option("-V, --version");
  for (const [{ flag, type }, option] of options) {
    program.addOption(option);
    if (type === "boolean") program.addOption(new Option(`--no-${flag}`));
  }
  if (!command) return program;
  // All positionals are optional to the parser. A prompt can provide missing values, which later code checks.
  for (const { name, variadic } of command.positionals) program.argument(`[${name}${variadic ? "..." : ""}]`);
  return program.allowExcessArguments().action(() => {});
}

function createOption(spec: FlagSpec): Option {
  const value = formatFlagValue(spec);
  const option = new Option([...(spec.short ? [`-${spec.short},`] : []), `--${spec.flag}`, ...value].join(" "));
  if (value.length === 0) return option;
  return option.argParser((text: string, previous: unknown) => {
    if (!spec.repeatable) {
      if (previous === undefined) return parseValue(text, spec);
      // The last value would win silently.
      throw new UsageError(`--${spec.flag} can be given only once`);
    }
    // No choice contains a comma, so a list of choices is one word.
    const words = spec.choices ? text.split(",").map((word) => word.trim()) : [text];
    return [...(Array.isArray(previous) ? previous : []), ...words.map((word) => parseValue(word, spec))];
  });
}

function readValues(program: Commander, flags: readonly FlagSpec[], options: OptionBySpec): Record<string, unknown> {
  const entries = flags.flatMap((spec) => {
    const option = options.get(spec)!;
    const value: unknown = program.getOptionValue(option.attributeName());
    if (option.negate) return value === false ? [[spec.flag, true]] : [];
    return value === undefined ? [] : [[spec.flag, value]];
  });
  return Object.fromEntries(entries);
}

const parseValue = (text: string, spec: FlagSpec): unknown => {
  const word = extractContractNumber(spec.flag, text, spec.type);
  return convertValue(`--${spec.flag}`, word, spec.type as ValueType, spec.choices, spec);
};

/** A flag in the position of a value means that the value was forgotten. The library would take it as the value. */
function rejectForgottenValues(argv: readonly string[], flags: readonly FlagSpec[]): void {
  for (const [position, word] of skipFlagValues(argv, flags)) {
    const spec = isBareWord(word) ? undefined : findFlag(word, flags);
    const [placeholder] = spec && !spec.optionalValue ? formatFlagValue(spec) : [];
    if (placeholder === undefined || !findFlag(argv[position + 1] ?? "", flags)) continue;
    throw new UsageError(`--${spec!.flag} requires a value: ${placeholder}`);
  }
}

function findFailure(program: Commander, words: readonly string[]): UsageError | undefined {
  try {
    program.parse(words, { from: "user" });
  } catch (error) {
    if (error instanceof UsageError) return error;
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0 && error.code !== "commander.help") return toUsageError(error);
  }
  return undefined;
}

function toUsageError({ message }: CommanderError): UsageError {
  const text = message
    .replace(/^error: /, "")
    .replace(/^option '(?:-\w, )?(--[\w-]+) (.*)' argument missing$/, "$1 requires a value: $2");
  const index = text.endsWith(")") ? text.lastIndexOf("(Did you mean ") : -1;
  return index < 0
    ? new UsageError(text)
    : new UsageError(text.slice(0, index).replace(/\n$/, ""), { hint: text.slice(index + 1, -1) });
}

function explainUnknownOption(error: UsageError, flags: readonly FlagSpec[], command: DeclaredCommand | undefined) {
  const [, unknownFlag] = /^unknown option '-*([^=']+)/.exec(error.message) ?? [];
  if (unknownFlag === undefined) return error;
  // The option before `--` belongs to svc, but was probably meant for the command to run.
  const hint =
    command && runsInnerCommand(command)
      ? `Options of the command that is run come after --: svc ${command.words.join(" ")} [options] -- COMMAND [its options]`
      : suggestPartialName(unknownFlag, [...new Set(flags.map(({ flag }) => flag))]);
  return hint === undefined ? error : new UsageError(error.message, { hint, cause: error });
}

/** Names the extra word, and the option that accepts it. The parser only counts arguments. */
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
