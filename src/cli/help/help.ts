import { groupBy } from "../../base/object.ts";
import { findNearest, joinWords } from "../../base/text.ts";
import type { CommandExample } from "../../derive/command-spec.ts";
import { briefHeadings, type CommandGroup, commandGroups } from "../command-tree/groups.ts";
import { groupNames, loadCommands, loadCommandTree, loadDeclarations, loadParser } from "../command-tree/tree.ts";
import { readWindowWidth } from "../output/styled.ts";
import { areWordsEqual, locateCommand, startsWithWords } from "../parse/argv.ts";
import { type DescribedCommand, getUnderlyingOperation, type ListedCommand } from "../parse/declaration.ts";
import { UsageError } from "../process/failure.ts";
import type { Host } from "../process/host.ts";
import {
  createFlagTables,
  createPositionalTable,
  formatPositional,
  type HelpPage,
  type HelpTable,
  layOutPage,
} from "./layout.ts";
import { helpTopics } from "./topics.ts";

/** Formats a page, or the whole tree as data, if the line requests help, names a group or is empty. */
export async function renderHelp(argv: readonly string[], host: Host): Promise<string> {
  const { words, wantsHelp } = locateCommand(argv);
  const isHelpCommand = words[0] === "help";
  const requestedWords = isHelpCommand ? words.slice(1) : words;
  if (isHelpCommand && argv.includes("--json")) {
    const { buildManifest } = await import("../parse/manifest.ts");
    return `${JSON.stringify(buildManifest(await loadCommandTree()), null, 2)}\n`;
  }
  if (isHelpCommand && argv.includes("--man")) {
    const { formatManual } = await import("./manual.ts");
    if (requestedWords.length > 0) await requireKnownCommand(requestedWords);
    return formatManual(await loadCommandTree());
  }
  const { stdout } = host;
  const columns = readWindowWidth(stdout, host.env) ?? (stdout.isTTY ? 80 : 100);
  const topic = requestedWords.length === 1 ? helpTopics[requestedWords[0]!] : undefined;
  if (topic) return layOutPage(await topic(), columns);
  const [first = ""] = requestedWords;
  if (isHelpCommand && helpTopics[first]) {
    throw new UsageError("svc help shows one topic", { hint: `See svc help ${first}.` });
  }

  const names = await groupNames();
  const isAll = argv.includes("--all") && (isHelpCommand || wantsHelp);
  if (isAll && requestedWords.length < 2 && requestedWords.every((name) => names.includes(name))) {
    const topics = requestedWords.length === 0 ? names : requestedWords;
    const all = topics.map(async (name) => [name, await loadDeclarations(name)] as const);
    return layOutPage(createAllCommandsPage(new Map(await Promise.all(all))), columns);
  }
  if (requestedWords.length === 0) {
    if (!isHelpCommand && !wantsHelp) await requireKnownCommand(argv);
    return layOutPage(createRootPage(names), columns);
  }
  // An unknown word is an error, unless it follows a command whose help is requested.
  if (isHelpCommand || !names.includes(requestedWords[0]!))
    await requireKnownCommand(requestedWords).catch((error: unknown) => addSuggestion(error, requestedWords));
  const commands = await loadCommands(requestedWords[0]!);
  const path = findDeepest(requestedWords, commands);
  const command = commands.find(({ words }) => areWordsEqual(words, path));
  // Words after a command are arguments.
  if (!command && path.length < requestedWords.length) {
    await requireKnownCommand(requestedWords.slice(0, path.length + 1)).catch((error: unknown) => {
      throw error instanceof UsageError ? error.withHint(`See svc ${path.join(" ")} --help.`) : error;
    });
  }
  const below = commands
    .filter(({ words }) => words.length > path.length && startsWithWords(words, path))
    .map((command) => command.loadDeclaration());
  return layOutPage(
    command ? createCommandPage(command.loadDeclaration(), below) : createGroupPage(path, below),
    columns,
  );
}

async function requireKnownCommand(line: readonly string[]): Promise<void> {
  (await loadParser(locateCommand(line).words)).parse(line);
}

function addSuggestion(error: unknown, [word = "", ...furtherWords]: readonly string[]): never {
  if (!(error instanceof UsageError)) throw error;
  const nearest = furtherWords.length === 0 ? findNearest(word, Object.keys(helpTopics)) : undefined;
  if (nearest !== undefined) throw new UsageError(error.message, { hint: `Did you mean ${nearest}?`, cause: error });
  throw error.withHint(`svc --help lists the commands. Topics: ${Object.keys(helpTopics).join(", ")}.`);
}

const createRootPage = (names: readonly string[]): HelpPage => {
  const topics = Object.keys(helpTopics).filter((name) => name !== "options");
  return {
    usage: "svc <group> <command> [options]",
    introduction: ["Command-line client and local emulator for a contract platform."],
    examples: [
      ["Run the tour on a temporary emulator", "tour"],
      ["Run a test suite against an emulator", "emulator exec -- npm test"],
    ],
    tables: [
      ...[...new Set(names.map(getHeading))].map((title): HelpTable => {
        const groups = names.filter((name) => getHeading(name) === title);
        return briefHeadings.includes(title)
          ? { title, rows: [], names: groups }
          : { title, rows: groups.map((name) => [name, commandGroups[name]?.summary ?? ""]) };
      }),
      {
        title: "Learn more",
        rows: [
          ["svc <group> --help", "Show the commands of a group"],
          ["svc help options", "Show the options of every command"],
          ["svc help <topic>", topics.join(", ")],
          ["svc help --all", "List every command"],
        ],
      },
    ],
  };
};

/** Creates the page of `svc help --all` with every command of these groups, including those that their pages omit. */
const createAllCommandsPage = (commands: ReadonlyMap<string, readonly DescribedCommand[]>): HelpPage => ({
  usage: "svc <group> <command> [options]",
  examples: [["Show help for one command", "contracts create --help"]],
  tables: [...commands].map(([title, groupCommands]) => ({
    title,
    rows: groupCommands.map(({ words, positionals, summary }) => [
      [...(words.length > 1 ? words.slice(1) : words), ...positionals.map(formatPositional)].join(" "),
      summary,
    ]),
  })),
});

const getHeading = (name: string) => commandGroups[name]?.heading ?? "More";

function findDeepest(words: readonly string[], commands: readonly ListedCommand[]): readonly string[] {
  for (let length = words.length; length > 1; length -= 1) {
    const start = words.slice(0, length);
    if (commands.some(({ words: commandWords }) => startsWithWords(commandWords, start))) return start;
  }
  return words.slice(0, 1);
}

function createCommandPage(command: DescribedCommand, below: readonly DescribedCommand[]): HelpPage {
  const { words, summary, description, positionals, flags, examples, bodyFrom, alsoTakes } = command;
  const sharedFlags = alsoTakes
    ? flags.filter(({ flag }) => alsoTakes.shown.includes(flag)).map((flag) => ({ ...flag, section: undefined }))
    : flags;
  return {
    usage: ["svc", ...words, ...positionals.map(formatPositional), "[options]"].join(" "),
    introduction: [`${summary}.`, ...(description ? [description] : [])],
    examples,
    tables: [
      createPositionalTable(positionals),
      ...createFlagTables(sharedFlags, bodyFrom),
      ...createCommandTables(words, below),
    ],
    notes: [...(alsoTakes ? [formatSharedOptions(alsoTakes)] : []), ...listOperationNotes(command), everyCommand],
  };
}

function createGroupPage(words: readonly string[], below: readonly DescribedCommand[]): HelpPage {
  const group = words.length === 1 ? commandGroups[words[0]!] : undefined;
  return {
    usage: ["svc", ...words, "<command> [options]"].join(" "),
    introduction: group ? [`${group.summary}.`] : [],
    examples: selectGroupExamples(below, group),
    tables: createCommandTables(words, below, group),
    notes: [
      `Options: svc ${words.join(" ")} COMMAND --help.${
        group?.unlisted ? ` Every command: svc help ${words.join(" ")} --all.` : ""
      }`,
    ],
  };
}

/** Selects examples that a newcomer needs: of the commands that the group declares, or else of its first ones. */
function selectGroupExamples(below: readonly DescribedCommand[], group: CommandGroup | undefined): CommandExample[] {
  const mainCommands = group?.exampleCommands?.map((name) =>
    below.find(({ words }) => words.slice(1).join(" ") === name),
  );
  return (mainCommands ?? below.slice(0, 2)).flatMap((command) => command?.examples.slice(0, 1) ?? []);
}

function createCommandTables(
  words: readonly string[],
  below: readonly DescribedCommand[],
  group?: CommandGroup,
): HelpTable[] {
  const depth = words.length + 1;
  const commandsByWord = groupBy(below, (command) => command.words[words.length]!);
  const createRow = (word: string) => createCommandRow(word, commandsByWord.get(word) ?? [], depth);
  if (group?.sections) {
    return group.sections.map(({ title, commands, more = [] }, i) => ({
      title,
      rows: commands.map((word) => [word, createRow(word)[1]] as const),
      names: more,
      isContinuation: i > 0,
    }));
  }
  const listedWords = [...commandsByWord.keys()].filter((word) => !group?.unlisted?.includes(word));
  const isCommand = (word: string) => commandsByWord.get(word)!.some((command) => command.words.length === depth);
  return [
    { title: "Commands", rows: listedWords.filter(isCommand).map(createRow) },
    { title: "More commands", rows: listedWords.filter((word) => !isCommand(word)).map(createRow) },
  ];
}

/** Describes the command at this depth, if any, and those below it. */
function createCommandRow(word: string, commands: readonly DescribedCommand[], depth: number): [string, string] {
  const command = commands.find(({ words }) => words.length === depth);
  const inner = commands.flatMap(({ words }) => words[depth] ?? []);
  const innerNote = inner.length > 0 ? [command ? `also: ${inner.join(", ")}` : inner.join(", ")] : [];
  const term = [word, ...(command?.positionals ?? []).map(formatPositional)].join(" ");
  return [term, [...(command ? [command.summary] : []), ...innerNote].join("; ")];
}

function formatSharedOptions({ command, except }: NonNullable<DescribedCommand["alsoTakes"]>): string {
  const excludedFlags = joinWords(except.map((flag) => `--${flag}`));
  return `Also takes the options of svc ${command}, except ${excludedFlags}.`;
}

function listOperationNotes(command: DescribedCommand): string[] {
  const { id, method, path, fields } = getUnderlyingOperation(command);
  return [
    ...(fields && fields.length > 0 ? [`Fields for --json= and --fields: ${fields.join(", ")}`] : []),
    ...(id ? [`API: ${[method].flat().join("|")} ${path} (${id})`] : []),
  ];
}

const everyCommand = "Options of every command: svc help options. Exit codes: svc help exit-codes.";
