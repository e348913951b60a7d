import type { CommandDeclaration, FlagSpec } from "../../derive/command-spec.ts";
import { addSeparator, locateCommand, normalizeArgv, runsInnerCommand, startsWithWords } from "../parse/argv.ts";
import type { DeclaredCommand, InterpretedLine, ListedCommand } from "../parse/declaration.ts";
import type { Parser } from "../parse/parser.ts";
import { UsageError } from "../process/failure.ts";
import { builtGroups, readBuiltCommands } from "./built-commands.ts";
import { commandGroups } from "./groups.ts";

export const groupNames = async (): Promise<readonly string[]> =>
  builtGroups ?? [
    ...new Set([...Object.keys(commandGroups), ...(await (await import("./compose.ts")).listDerivedGroups())]),
  ];

/** Loads the part of the tree that the words need. `adjust` maps each declaration before parsing. */
export async function loadParser(
  words: readonly string[],
  adjust = (declaration: DeclaredCommand): DeclaredCommand => declaration,
): Promise<Parser> {
  const [{ Parser }, names] = await Promise.all([import("../parse/parser.ts"), groupNames()]);
  const group = names.find((name) => name === words[0]);
  const namedCommands = group === undefined ? [] : findCommands(words, await loadCommands(group));
  return new Parser(
    names,
    namedCommands.map((command) => adjust(command.loadDeclaration())),
  );
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
  const parser = await loadParser(words, withTexts);
  try {
    return parser.isGroup(words) ? undefined : parser.parse(line);
  } catch (error) {
    if (error instanceof UsageError) return undefined;
    throw error;
  }
}

const withTexts = (declaration: DeclaredCommand): DeclaredCommand => ({
  ...declaration,
  flags: declaration.flags.map(({ choices: _, ...flag }): FlagSpec => {
    const isSwitch = flag.type === "switch" || flag.type === "boolean";
    return isSwitch ? flag : { ...flag, type: "text" };
  }),
});

export const loadDeclarations = async (group: string): Promise<readonly DeclaredCommand[]> =>
  (await loadCommands(group)).map((command) => command.loadDeclaration());

export const loadCommandWords = async (group: string): Promise<readonly (readonly string[])[]> =>
  (await loadCommands(group)).map(({ words }) => words);

/** Loads the commands of a group. Each declaration is read on first use. */
export const loadCommands = async (group: string): Promise<readonly ListedCommand[]> =>
  builtGroups ? readBuiltCommands(group) : (await import("./compose.ts")).composeCommands(group);

/**
 * Finds the command with these words and its ancestors, or all candidates if the words are ambiguous. Shorter commands
 * come first, so that `emulator clock` exists when `emulator clock advance` looks up its parent.
 */
function findCommands(words: readonly string[], commands: readonly ListedCommand[]): readonly ListedCommand[] {
  const all = [...commands].sort((a, b) => a.words.length - b.words.length);
  const matches = all.filter((command) => startsWithWords(words, command.words));
  const deepest = matches.at(-1);
  const isUnambiguous =
    deepest !== undefined &&
    all.every((command) => command === deepest || !startsWithWords(command.words, deepest.words));
  return isUnambiguous ? matches : all;
}

export interface CommandTreeGroup {
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly CommandDeclaration[];
}

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
