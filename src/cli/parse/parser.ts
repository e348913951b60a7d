import { Command as Commander, CommanderError, Option } from "commander";
import { parseDuration } from "../../base/duration.ts";
import type { FlagSpec, ValueType } from "../../derive/command-spec.ts";
import { UsageError } from "../process/failure.ts";
import { runsInnerCommand, startsWithWords } from "./argv.ts";
import { type DeclaredCommand, formatFlagValue, type InterpretedLine } from "./declaration.ts";
import { globalFlags } from "./globals.ts";
import { suggestPartialName } from "./suggestions.ts";
import { convertValue, extractContractNumber, InvalidValueError } from "./values.ts";

/** Part of the command tree that a command line needs: the command with its words, or all candidates. */
export class Parser {
  readonly #root: Commander;
  readonly #flagSpecs: (readonly [Commander, readonly FlagSpec[]])[] = [];
  #operators: readonly FlagSpec[] = [];
  #invocation: InterpretedLine | undefined;
  readonly #words: readonly string[];
  /** Whether the words name a command that runs another one. */
  readonly #runsInner: boolean;

  /** `words` come from the command line. `declarations` are the commands of their group. */
  constructor(groups: readonly string[], declarations: readonly DeclaredCommand[], words: readonly string[]) {
    this.#words = words;
    this.#runsInner = declarations.some(
      (declaration) => runsInnerCommand(declaration) && startsWithWords(words, declaration.words),
    );
    this.#root = silenceOutput(new Commander("svc")).helpCommand("help [topic]").option("-V, --version");
    const namedCommand = declarations.find(
      (declaration) => declaration.words.every((word, i) => word === words[i]) && declaration.flags.some(isGlobal),
    );
    const findOwnFlag = ({ flag }: FlagSpec) => namedCommand?.flags.find((spec) => spec.flag === flag);
    this.#flagSpecs.push([this.#root, globalFlags.map((flag) => findOwnFlag(flag) ?? flag)]);
    for (const name of groups.filter((name) => declarations.length === 0 || name === words[0]))
      findOrCreateChild(this.#root, name);
    for (const declaration of declarations) {
      this.#declare(declaration.words.reduce(findOrCreateChild, this.#root), declaration);
    }
  }

  /** Parses the command line. Throws UsageError. Returns undefined if the line requests a page instead of a command. */
  parse(argv: readonly string[]): InterpretedLine | undefined {
    const isRelevant = createFlagFilter(argv);
    this.#addOptions(isRelevant);
    this.#addOperators(argv);
    const error = this.#findFailure(argv);
    if (!error) return this.#invocation;
    // The parser suggests only names from its own declarations.
    this.#addOptions((flag) => !isRelevant(flag));
    throw this.#explainError(this.#findFailure(argv) ?? error, argv);
  }

  #addOptions(isRelevant: (flag: FlagSpec) => boolean): void {
    for (const [command, flags] of this.#flagSpecs) {
      for (const option of flags.filter(isRelevant).flatMap(createOptions)) command.addOption(option);
    }
  }

  #addOperators(argv: readonly string[]): void {
    for (const [command, flags] of this.#flagSpecs) {
      const operatorFlags = findOperatorFlags(flags, argv);
      for (const option of operatorFlags.flatMap(createOptions)) command.addOption(option);
      this.#operators = [...this.#operators, ...operatorFlags];
    }
  }

  #findFailure(argv: readonly string[]): UsageError | undefined {
    try {
      this.#root.parse(argv as string[], { from: "user" });
    } catch (error) {
      if (error instanceof UsageError) return error;
      if (!(error instanceof CommanderError)) throw error;
      if (error.exitCode !== 0 && error.code !== "commander.help") return toUsageError(error);
    }
    return undefined;
  }

  #explainError(error: UsageError, argv: readonly string[]): UsageError {
    if (error.message.startsWith("too many arguments")) return explainExtraArguments(error, this.#flagSpecs, argv);
    const [, unknownFlag] = /^unknown option '-*([^=']+)/.exec(error.message) ?? [];
    if (unknownFlag === undefined) return error;
    const hint = this.#runsInner ? this.#createOrderHint() : (this.#createNameHint(unknownFlag) ?? error.hint);
    return hint === undefined ? error : new UsageError(error.message, { hint, cause: error });
  }

  /** The option before `--` belongs to svc, but was probably meant for the command to run. */
  #createOrderHint(): string {
    const line = `svc ${this.#words.slice(0, 2).join(" ")} [options] -- COMMAND [its options]`;
    return `Options of the command that is run come after --: ${line}`;
  }

  #createNameHint(unknownFlag: string): string | undefined {
    const flags = this.#flagSpecs.flatMap(([, specs]) => specs.map(({ flag }) => flag));
    return suggestPartialName(unknownFlag, [...new Set(flags)]);
  }

  formatHelpLine(words: readonly string[]): string {
    const knownFlags: string[] = [];
    for (let node: Commander | undefined = this.#root, i = 0; node; i += 1) {
      node = node.commands.find((command) => command.name() === words[i]);
      if (node) knownFlags.push(node.name());
    }
    return ["svc", ...knownFlags, "--help"].join(" ");
  }

  /** Reports whether the words name only a group of commands and no command to run. */
  isGroup(words: readonly string[]): boolean {
    const match = words.reduce<Commander | undefined>(
      (parent, word) => parent?.commands.find((command) => command.name() === word),
      this.#root,
    );
    return match !== undefined && match.commands.length > 0 && !runnable.has(match);
  }

  #declare(command: Commander, declaration: DeclaredCommand): void {
    const { positionals, flags } = declaration;
    runnable.add(command);
    // All positionals are optional to the parser. A prompt can provide missing values, which later code checks.
    for (const positional of positionals) command.argument(`[${positional.name}${positional.variadic ? "..." : ""}]`);
    if (declaration.words.some((word, i) => word !== this.#words[i])) return;
    this.#flagSpecs.push([command, flags.filter((flag) => !isGlobal(flag))]);
    command.action(() => {
      const extendedDeclaration = { ...declaration, flags: [...flags, ...this.#operators] };
      this.#invocation = toInvocation(this.#operators.length === 0 ? declaration : extendedDeclaration, command);
    });
  }
}

/** Global flags can precede the words. A command that redefines a global flag, such as --format, declares it. */
const isGlobal = ({ flag }: FlagSpec): boolean => globalFlags.some((globalFlag) => globalFlag.flag === flag);

const findOrCreateChild = (parent: Commander, word: string): Commander =>
  parent.commands.find((command) => command.name() === word) ?? silenceOutput(parent.command(word));

/** svc formats its own pages (src/cli/help). The parser only parses and throws errors. */
const silenceOutput = (command: Commander): Commander =>
  command
    .exitOverride()
    .helpCommand(false)
    .configureOutput({ writeOut: () => {}, writeErr: () => {}, outputError: () => {} });

const runnable = new WeakSet<Commander>();

/** Creates only relevant options, because creating options takes longer than parsing them and a command has thirty. */
function createFlagFilter(argv: readonly string[]): (flag: FlagSpec) => boolean {
  const givenFlags = new Set(argv.filter((token) => token.startsWith("--")).map((token) => token.split("=", 1)[0]));
  const hasShort = argv.some((token) => /^-[^-]/.test(token));
  return ({ flag, short }) =>
    givenFlags.has(`--${flag}`) || givenFlags.has(`--no-${flag}`) || (hasShort && short !== undefined);
}

function createOptions(spec: FlagSpec): Option[] {
  const value = formatFlagValue(spec);
  const option = new Option([...(spec.short ? [`-${spec.short},`] : []), `--${spec.flag}`, ...value].join(" "));
  if (value.length > 0) {
    option.argParser((text: string, previous: unknown) => {
      if (!spec.repeatable) {
        if (previous === undefined) return checkValues(text, spec);
        // The last value would win silently.
        throw new UsageError(`--${spec.flag} can be given only once`);
      }
      // No choice contains a comma, so a list of choices is one word.
      const words = spec.choices ? text.split(",").map((word) => word.trim()) : [text];
      return [...((previous as unknown[] | undefined) ?? []), ...words.map((word) => checkValues(word, spec))];
    });
  }
  return spec.type === "boolean" ? [option, new Option(`--no-${spec.flag}`)] : [option];
}

/** The parser changes the message of its own error type, so this function throws another one. */
function checkValues(text: string, spec: FlagSpec): unknown {
  try {
    return convertValue(extractContractNumber(spec.flag, text, spec.type), spec.type as ValueType, spec.choices, spec);
  } catch (error) {
    if (!(error instanceof InvalidValueError)) throw error;
    throw new UsageError(`--${spec.flag} ${error.message}`, { hint: error.hint, cause: error });
  }
}

function toInvocation(declaration: DeclaredCommand, command: Commander): InterpretedLine {
  const ownOptions = command.opts<Record<string, unknown>>();
  const all = command.optsWithGlobals<Record<string, unknown>>();
  const args = command.processedArgs as (string | string[] | undefined)[];
  return {
    declaration,
    globals: toFlagValues(globalFlags, all),
    input: {
      positionals: Object.fromEntries(declaration.positionals.map(({ name }, i) => [name, args[i]])),
      flags: toFlagValues(declaration.flags, ownOptions),
      rest: runsInnerCommand(declaration) ? command.args : [],
    },
  };
}

function toFlagValues(flags: readonly FlagSpec[], values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    flags.flatMap((spec) => {
      const negative = spec.type === "switch" && spec.flag.startsWith("no-");
      const value = values[toCamelCase(negative ? spec.flag.slice(3) : spec.flag)];
      return value === undefined ? [] : [[spec.flag, negative ? value === false : value]];
    }),
  );
}

const toCamelCase = (flag: string): string => flag.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

function toUsageError({ message }: CommanderError): UsageError {
  const text = message
    .replace(/^error: /, "")
    .replace(/^option '(?:-\w, )?(--[\w-]+) (.*)' argument missing$/, "$1 requires a value: $2");
  const index = text.endsWith(")") ? text.lastIndexOf("(Did you mean ") : -1;
  return index < 0
    ? new UsageError(text)
    : new UsageError(text.slice(0, index).replace(/\n$/, ""), { hint: text.slice(index + 1, -1) });
}

/** Names the extra word, and the option that accepts it. The parser only counts arguments. */
export function explainExtraArguments(
  error: UsageError,
  flagSpecs: readonly (readonly [Commander, readonly FlagSpec[]])[],
  argv: readonly string[],
): UsageError {
  const deepest = flagSpecs.toSorted(([a], [b]) => getWords(b).length - getWords(a).length);
  const [command, flags = []] = deepest.find(([one]) => one.args.length > one.registeredArguments.length) ?? [];
  const extra = command?.args[command.registeredArguments.length];
  if (command === undefined || extra === undefined) return error;
  const acceptedArguments = command.registeredArguments.map((argument) => `<${argument.name().replaceAll("_", "-")}>`);
  const acceptedInput = acceptedArguments.length === 0 ? "options alone" : `${acceptedArguments.join(" ")} and options`;
  const isFieldList = argv[argv.indexOf(extra) - 1] === "--json";
  const flag = findFlag(extra, flags);
  const option = isFieldList ? `--json=${extra}` : flag && `--${flag} ${extra}`;
  const hint = option === undefined ? undefined : `Did you mean ${option}?`;
  const message = `too many arguments: svc ${getWords(command).join(" ")} takes ${acceptedInput}, not "${extra}" as well`;
  return new UsageError(message, { hint, cause: error });
}

function getWords(command: Commander): string[] {
  return command.parent ? [...getWords(command.parent), command.name()] : [];
}

function findFlag(word: string, flags: readonly FlagSpec[]): string | undefined {
  const candidates = [
    { is: parseDuration(word) !== undefined, names: ["by", "within"] },
    { is: /^\d{4}-\d\d-\d\d/.test(word), names: ["to", "since"] },
    { is: /^[TH]-\d+$/.test(word), names: ["contract", "contract-ids"] },
  ];
  const names = candidates.find(({ is }) => is)?.names ?? [];
  return names.find((name) => flags.some(({ flag }) => flag === name));
}

/** Declares options with an operator, such as `--filter-created-at[$gt]`, for flags that support operators. */
export function findOperatorFlags(flags: readonly FlagSpec[], argv: readonly string[]): FlagSpec[] {
  const operatorWords = new Set(argv.filter((token) => token.includes("[$")).map((token) => token.split("=", 1)[0]!));
  return [...operatorWords].flatMap((option) => {
    const [, name, operator] = /^--([\w-]+)(\[\$\w+\])$/.exec(option) ?? [];
    const plain = flags.find(({ flag, takesOperator }) => takesOperator && flag === name);
    return plain?.target === undefined
      ? []
      : [
          {
            ...plain,
            flag: `${name}${operator}`,
            target: { ...plain.target, name: `${plain.target.name}${operator}` },
          },
        ];
  });
}
