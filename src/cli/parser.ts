import { Command as Commander, CommanderError, InvalidArgumentError, Option } from "commander";
import type { CommandDeclaration, FlagSpec, PositionalSpec, ValueType } from "../derive/command-spec.ts";
import type { Input } from "./command.ts";
import { UsageError } from "./failure.ts";
import { globalFlags } from "./globals.ts";
import { exampleLines } from "./help.ts";
import { meant } from "./suggest.ts";

/** What a command line means: which command, and its input with the global flags. */
export interface Invocation<D extends CommandDeclaration> {
  readonly declaration: D;
  readonly input: Input;
  readonly globals: Readonly<Record<string, unknown>>;
}

/** A group in the root help, or the one that the command line names with its commands. */
export interface GroupEntry<D extends CommandDeclaration> {
  readonly name: string;
  readonly summary: string;
  readonly declarations: readonly D[];
}

export interface Screen {
  readonly columns: number;
  readonly version: string;
}

/** The command tree: every group as a line of help, and the named ones with all their commands. */
export class Parser<D extends CommandDeclaration> {
  readonly #root: Commander;
  #chosen: Invocation<D> | undefined;
  #printed = "";
  readonly #words: readonly string[];

  /** `words` are those of the command line: only the command that they name gets its flags. */
  constructor(entries: readonly GroupEntry<D>[], words: readonly string[], screen: Screen) {
    this.#words = words;
    this.#root = this.#silent(new Commander("svc"), screen)
      .description("Command-line toolkit and local emulator for a contract platform")
      .helpCommand("help [topic]", "Show help for a command, or a topic: exit-codes, environment, formats")
      .option("-V, --version", "Print the version")
      .usage("<group> <command> [options]");
    for (const flag of globalFlags)
      for (const option of optionsOf(flag, "Global options:")) this.#root.addOption(option);
    for (const entry of entries) this.#addGroup(entry, screen);
  }

  /** The command line as a value. Throws UsageError. Undefined when there is nothing to run but help to print. */
  parse(argv: readonly string[]): Invocation<D> | undefined {
    try {
      this.#root.parse(argv as string[], { from: "user" });
    } catch (error) {
      if (!(error instanceof CommanderError)) throw error;
      if (error.exitCode !== 0 && error.code !== "commander.help") throw usageError(error);
    }
    return this.#chosen;
  }

  /** The help page of the deepest command that the words name. */
  help(words: readonly string[]): string {
    this.#printed = "";
    let at = this.#root;
    for (const word of words) {
      const next = at.commands.find((command) => command.name() === word);
      if (!next) break;
      at = next;
    }
    at.outputHelp();
    return this.#printed;
  }

  /** The value of a positional. Throws UsageError. */
  static positional(name: string, text: string, type: ValueType, choices: readonly string[] | undefined): unknown {
    try {
      return convert(text, type, choices);
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      throw new UsageError(`<${name.replaceAll("_", "-")}>: "${text}" is invalid. ${error.message}`);
    }
  }

  /** Whether the words name a command that can run, or only a group of commands. */
  isGroup(words: readonly string[]): boolean {
    const found = words.reduce<Commander | undefined>(
      (at, word) => at?.commands.find((command) => command.name() === word),
      this.#root,
    );
    return found !== undefined && found.commands.length > 0 && !runnable.has(found);
  }

  #addGroup({ name, summary, declarations }: GroupEntry<D>, screen: Screen): void {
    const alone = declarations.find(({ words }) => words.length === 1);
    const group = this.#silent(this.#root.command(name), screen).summary(summary).description(summary);
    if (declarations.length === 0) return;
    if (alone) this.#declare(group, alone);
    else group.usage("<command> [options]");
    // Shorter ones first, so that `emulator clock` exists when `emulator clock advance` asks for its parent.
    for (const declaration of [...declarations].sort((a, b) => a.words.length - b.words.length)) {
      if (declaration.words.length === 1) continue;
      const parent = declaration.words.slice(1, -1).reduce((at, word) => this.#child(at, word, screen), group);
      this.#declare(this.#child(parent, declaration.words.at(-1)!, screen), declaration);
    }
    for (const inner of group.commands) {
      if (!runnable.has(inner)) inner.summary(inner.commands.map((command) => command.name()).join(", "));
    }
  }

  #child(parent: Commander, word: string, screen: Screen): Commander {
    const known = parent.commands.find((command) => command.name() === word);
    return known ?? this.#silent(parent.command(word), screen).usage("<command> [options]");
  }

  #declare(command: Commander, declaration: D): void {
    const { summary, description, positionals, flags, examples } = declaration;
    command.summary(summary).description(description ? `${summary}.\n\n${description}` : summary);
    command.usage([...positionals.map(usageOf), "[options]"].join(" "));
    runnable.add(command);
    // All are optional to the parser: what is missing may come from a prompt, and is checked in one place.
    for (const one of positionals) command.argument(`[${one.name}${one.variadic ? "..." : ""}]`, one.description);
    if (declaration.words.some((word, i) => word !== this.#words[i])) return;
    for (const flag of flags) for (const option of optionsOf(flag, "Options:")) command.addOption(option);
    const shown = examples.length > 0 ? `${exampleLines(examples)}\n\n` : "";
    command.addHelpText("after", `\n${shown}${globalsLine}`);
    command.action(() => {
      this.#chosen = invocationOf(declaration, command);
    });
  }

  #silent(command: Commander, { columns }: Screen): Commander {
    const keep = (text: string) => {
      this.#printed += text;
    };
    return command
      .exitOverride()
      .helpCommand(false)
      .helpOption("-h, --help", "Show help")
      .configureOutput({
        writeOut: keep,
        writeErr: keep,
        outputError: () => {},
        getOutHelpWidth: () => columns,
        getErrHelpWidth: () => columns,
        getOutHasColors: () => false,
        getErrHasColors: () => false,
      })
      .configureHelp({
        subcommandTerm: (sub) => [sub.name(), sub.usage().replace(/ ?\[options\]| ?<command>/g, "")].join(" ").trim(),
      });
  }
}

const globalsLine =
  "Every command also takes --json[=fields], --format, --base-url, --emulator, --profile, …: see svc --help.";

const runnable = new WeakSet<Commander>();

const usageOf = ({ name, optional, variadic }: PositionalSpec): string => {
  const shown = `${name.replaceAll("_", "-")}${variadic ? "..." : ""}`;
  return optional ? `[${shown}]` : `<${shown}>`;
};

function optionsOf(spec: FlagSpec, group: string): Option[] {
  const short = spec.short ? `-${spec.short}, ` : "";
  const name = spec.placeholder ?? (spec.type === "integer" || spec.type === "number" ? "N" : "TEXT");
  const value =
    spec.type === "switch" || spec.type === "boolean" ? "" : spec.optionalValue ? ` [${name}]` : ` <${name}>`;
  const option = new Option(`${short}--${spec.flag}${value}`, helpOf(spec)).helpGroup(group);
  if (value !== "") {
    option.argParser((text: string, previous: unknown) => {
      const one = convert(text, spec.type as ValueType, spec.choices);
      return spec.repeatable ? [...((previous as unknown[] | undefined) ?? []), one] : one;
    });
  }
  return spec.type === "boolean" ? [option, new Option(`--no-${spec.flag}`).hideHelp()] : [option];
}

function helpOf({ description, required, choices, repeatable, type, flag, ...spec }: FlagSpec): string {
  const notes = [
    ...(required ? ["required"] : []),
    ...(choices && choices.length <= 12 ? [choices.join(", ")] : []),
    ...(repeatable ? ["may be repeated"] : []),
    ...(type === "boolean" ? [`--no-${flag} for false`] : []),
    ...(spec.default === undefined ? [] : [`default ${spec.default}`]),
  ];
  return [description, notes.length > 0 ? `(${notes.join("; ")})` : ""].filter(Boolean).join(" ");
}

/** The value of one word. Throws commander's InvalidArgumentError, which names the flag. */
export function convert(text: string, type: ValueType, choices: readonly string[] | undefined): unknown {
  if (choices && !choices.includes(text)) throw new InvalidArgumentError(meant(text, choices));
  switch (type) {
    case "integer":
      if (!/^-?\d+$/.test(text)) throw new InvalidArgumentError("A whole number is needed.");
      return Number(text);
    case "number":
      if (text.trim() === "" || !Number.isFinite(Number(text))) throw new InvalidArgumentError("A number is needed.");
      return Number(text);
    case "boolean":
      if (text !== "true" && text !== "false") throw new InvalidArgumentError("true or false is needed.");
      return text === "true";
    case "scalar":
      return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
    case "text":
      return text;
  }
}

function invocationOf<D extends CommandDeclaration>(declaration: D, command: Commander): Invocation<D> {
  const own = command.opts<Record<string, unknown>>();
  const all = command.optsWithGlobals<Record<string, unknown>>();
  const isPassthrough = (declaration as { passthrough?: boolean }).passthrough === true;
  const given = command.processedArgs as (string | string[] | undefined)[];
  return {
    declaration,
    globals: valuesOf(globalFlags, all),
    input: {
      positionals: Object.fromEntries(declaration.positionals.map(({ name }, i) => [name, given[i]])),
      flags: valuesOf(declaration.flags, own),
      rest: isPassthrough ? command.args : [],
    },
  };
}

function valuesOf(flags: readonly FlagSpec[], values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    flags.flatMap((spec) => {
      // commander turns `--no-input` into input: false.
      const negative = spec.type === "switch" && spec.flag.startsWith("no-");
      const value = values[camel(negative ? spec.flag.slice(3) : spec.flag)];
      return value === undefined ? [] : [[spec.flag, negative ? value === false : value]];
    }),
  );
}

const camel = (flag: string): string => flag.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** commander's words without its prefix; its suggestion becomes the hint. */
function usageError({ message }: CommanderError): UsageError {
  const text = message.replace(/^error: /, "");
  const suggestion = /\n?\((Did you mean .*)\)$/s.exec(text);
  return new UsageError(suggestion ? text.slice(0, suggestion.index) : text, { hint: suggestion?.[1] });
}
