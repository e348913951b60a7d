import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { FlagSpec } from "../../derive/command-spec.ts";
import { addSeparator, locateCommand, normalizeArgv, runsInnerCommand, startsWithWords } from "../parse/argv.ts";
import type { DeclaredCommand, InterpretedLine, ListedCommand } from "../parse/declaration.ts";
import type { CommandTreeGroup } from "../parse/manifest.ts";
import { UsageError } from "../process/failure.ts";
import { commandGroups } from "./groups.ts";

export const groupNames = async (): Promise<readonly string[]> =>
  builtGroups ?? [
    ...new Set([...Object.keys(commandGroups), ...Object.keys((await import("../../derive/specs.ts")).deriveSpecs())]),
  ];

/** Loads the group that the words name. */
export async function loadParser(words: readonly string[]) {
  const [{ createParser }, names] = await Promise.all([import("../parse/parser.ts"), groupNames()]);
  const group = names.find((name) => name === words[0]);
  return createParser(names, group === undefined ? [] : await loadCommands(group));
}

export async function insertSeparator(argv: readonly string[]): Promise<readonly string[]> {
  const { words } = locateCommand(argv);
  const group = words.length > 1 ? (await groupNames()).find((name) => name === words[0]) : undefined;
  if (group === undefined) return argv;
  const namedCommand = (await loadCommands(group)).find(
    (command) => words.length > command.words.length && startsWithWords(words, command.words),
  );
  const declaration = namedCommand?.loadDeclaration();
  return declaration && runsInnerCommand(declaration) ? addSeparator(argv, declaration) : argv;
}

/** Interprets a command line, with strings as values, unless it prints a page or is invalid. */
export async function readLine(argv: readonly string[]): Promise<InterpretedLine | undefined> {
  const line = normalizeArgv(await insertSeparator(argv));
  const { words } = locateCommand(line);
  const parser = await loadParser(words);
  try {
    return parser.isGroup(words) ? undefined : parser.parse(line, withTexts);
  } catch (error) {
    if (error instanceof UsageError) return undefined;
    throw error;
  }
}

const withTexts = (declaration: DeclaredCommand): DeclaredCommand => ({
  ...declaration,
  positionals: declaration.positionals.map(({ type: _, choices: __, ...positional }) => positional),
  flags: declaration.flags.map(({ choices: _, ...flag }): FlagSpec => {
    const isSwitch = flag.type === "switch" || flag.type === "boolean";
    return isSwitch ? flag : { ...flag, type: "text" };
  }),
});

export const loadDeclarations = async (group: string): Promise<readonly DeclaredCommand[]> =>
  (await loadCommands(group)).map((command) => command.loadDeclaration());

/** Loads the commands of a group. Each declaration is read on first use. */
export const loadCommands = async (group: string): Promise<readonly ListedCommand[]> =>
  builtGroups ? readBuiltCommands(group) : (await import("./written-commands.ts")).composeCommands(group);

/** Loads all groups with all their commands, for the manifest and the manual. No other page needs the whole tree. */
export async function loadCommandTree(): Promise<CommandTreeGroup[]> {
  return Promise.all(
    (await groupNames()).map(async (name) => ({
      name,
      summary: commandGroups[name]?.summary ?? "",
      commands: await loadDeclarations(name),
    })),
  );
}

/**
 * The build sets this to one line per command with its words. The declarations are in the file of the group next to the
 * bundle. Parsing and help therefore load neither the registry nor the hand-written commands.
 */
declare const SVC_COMMANDS: string | undefined;

const commands =
  typeof SVC_COMMANDS === "undefined" ? undefined : SVC_COMMANDS.split("\n").map((line) => line.split(" "));

/** Groups in the order of the root help. Undefined when the program runs from its sources. */
const builtGroups: readonly string[] | undefined = commands && [...new Set(commands.map(([group]) => group!))];

/** File with the commands of a group next to the bundle: one JSON line per command. */
export const getCommandsFile = (group: string): string => `commands/${group}.ndjson`;

/** Lists the commands of one group. Their file is read on first use of one, and only its line is parsed. */
function readBuiltCommands(group: string): readonly ListedCommand[] {
  let lines: readonly string[] | undefined;
  const readLine = (line: number) => {
    lines ??= readFileSync(join(import.meta.dirname, getCommandsFile(group)), "utf8").split("\n");
    return JSON.parse(lines[line]!);
  };
  const groupCommands = (commands ?? []).filter((words) => words[0] === group);
  return groupCommands.map((words, line) => ({ words, loadDeclaration: () => readLine(line) }));
}
