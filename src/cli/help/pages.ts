import type { CommandExample } from "../../derive/command-spec.ts";
import type { Listed } from "../declared.ts";
import { type Group, groups } from "../groups.ts";
import { begins } from "../parse/argv.ts";
import { globalFlags } from "../parse/globals.ts";
import { type Described, operationBehind } from "./described.ts";
import { flagTable, positionalTable, positionalTerm } from "./flags.ts";
import type { HelpPage, Table } from "./layout.ts";
import { topics } from "./topics.ts";

/** The page of the whole program. */
export const rootPage = (names: readonly string[]): HelpPage => ({
  usage: "svc <group> <command> [options]",
  about: ["Command-line toolkit and local emulator for a contract platform."],
  examples: [
    { title: "See all of it in a few seconds, on an emulator that leaves nothing behind", argv: ["tour"] },
    { title: "Run a test suite against an emulator", argv: ["emulator", "exec", "--", "npm", "test"] },
    {
      title: "Keep where a service is",
      argv: ["config", "set", "contracts_url", "https://api.example.com"],
    },
    { title: "The help of one command", argv: ["contracts", "create", "--help"] },
  ],
  tables: [
    ...headings(names).map(
      (title): Table => ({
        title,
        rows: names.filter((name) => headingOf(name) === title).map((name) => [name, groups[name]?.summary ?? ""]),
      }),
    ),
    {
      title: "Help topics (svc help TOPIC)",
      rows: Object.entries(topics).map(([name, { summary }]) => [name, summary]),
    },
    flagTable("Options of every command", [
      ...globalFlags,
      { flag: "version", short: "V", type: "switch", description: "Print the version; so do -v and svc version" },
      { flag: "help", short: "h", type: "switch", description: "Show the help of what stands before it" },
    ]),
  ],
  notes: [],
});

/** The groups' headings, in the order in which groups first stand under them. */
export const headings = (names: readonly string[]): string[] => [...new Set(names.map(headingOf))];
export const headingOf = (name: string): string => groups[name]?.heading ?? "More";

/** The page that these words name: of a group, of the words in between, or of a command. */
export function pageOf(words: readonly string[], commands: readonly Listed[]): HelpPage {
  const at = deepest(words, commands);
  const command = commands.find((one) => sameWords(one.words, at));
  const below = commands
    .filter(({ words: own }) => own.length > at.length && begins(own, at))
    .map((one) => one.declaration());
  if (command) return commandPage(command.declaration(), below);
  return groupPage(at, below, at.length === 1 ? groups[at[0]!] : undefined);
}

/** The words up to the first that names nothing, where that stands behind a group; behind a command they are arguments. */
export function unknownIn(words: readonly string[], commands: readonly Listed[]): readonly string[] | undefined {
  const at = deepest(words, commands);
  const isCommand = commands.some((one) => sameWords(one.words, at));
  return isCommand || at.length === words.length ? undefined : words.slice(0, at.length + 1);
}

/** The longest beginning of the words that stands in the tree. */
function deepest(words: readonly string[], commands: readonly Listed[]): readonly string[] {
  for (let length = words.length; length > 1; length -= 1) {
    const start = words.slice(0, length);
    if (commands.some(({ words: own }) => begins(own, start))) return start;
  }
  return words.slice(0, 1);
}

const sameWords = (a: readonly string[], b: readonly string[]): boolean => a.length === b.length && begins(a, b);

function commandPage(command: Described, below: readonly Described[]): HelpPage {
  const { words, summary, description, positionals, flags, examples, bodyFrom } = command;
  return {
    usage: ["svc", ...words, ...positionals.map(positionalTerm), "[options]"].join(" "),
    about: [`${summary}.`, ...(description ? [description] : [])],
    examples,
    tables: [positionalTable(positionals), flagTable("Options", flags, bodyFrom), ...commandTables(words, below)],
    notes: [...operationNotes(command), everyCommand],
  };
}

function groupPage(words: readonly string[], below: readonly Described[], group: Group | undefined): HelpPage {
  return {
    usage: ["svc", ...words, "<command> [options]"].join(" "),
    about: group ? [`${group.summary}.`] : [],
    examples: groupExamples(below, group),
    tables: commandTables(words, below),
    notes: [`svc ${words.join(" ")} COMMAND --help shows the options of a command.`],
  };
}

/** The first example of the commands that a newcomer wants to see: those that the group names, else its first ones. */
function groupExamples(below: readonly Described[], group: Group | undefined): CommandExample[] {
  const shown = group?.shown?.map((name) => below.find(({ words }) => words.slice(1).join(" ") === name));
  return (shown ?? below.slice(0, 2)).flatMap((command) => command?.examples.slice(0, 1) ?? []);
}

/** The commands directly below some words, and the words that have further ones below them. */
function commandTables(words: readonly string[], below: readonly Described[]): Table[] {
  const depth = words.length;
  const next = [...new Set(below.map((one) => one.words[depth]!))];
  const own = (word: string) => below.find((one) => one.words.length === depth + 1 && one.words[depth] === word);
  const inner = (word: string) =>
    below
      .filter((one) => one.words.length > depth + 1 && one.words[depth] === word)
      .map((one) => one.words[depth + 1]!);
  return [
    {
      title: "Commands",
      rows: next.flatMap((word): [string, string][] => {
        const command = own(word);
        if (!command) return [];
        const more = inner(word);
        const also = more.length > 0 ? `; also: ${word} ${more.join(", ")}` : "";
        return [[[word, ...command.positionals.map(positionalTerm)].join(" "), `${command.summary}${also}`]];
      }),
    },
    {
      title: "More commands, by what they are about",
      rows: next.filter((word) => !own(word)).map((word) => [word, inner(word).join(", ")]),
    },
  ];
}

function operationNotes(command: Described): string[] {
  const { operation, method, path, fields } = operationBehind(command);
  return [
    ...(fields && fields.length > 0 ? [`Fields for --json= and --fields: ${fields.join(", ")}`] : []),
    ...(operation ? [`Operation ${operation}: ${[method].flat().join("|")} ${path}`] : []),
  ];
}

const everyCommand =
  "Every command also takes --help, --json[=fields], --format, --base-url, --emulator, --profile, …: see svc --help. " +
  "What exit codes mean: svc help exit-codes.";
