import type { CommandDeclaration, FlagSpec } from "../../derive/command-spec.ts";
import { addSeparator, locateCommand, normalizeArgv, runsInnerCommand, startsWithWords } from "../parse/argv.ts";
import type { DeclaredCommand, InterpretedLine, ListedCommand } from "../parse/declaration.ts";
import type { Parser } from "../parse/parser.ts";
import { UsageError } from "../process/failure.ts";
import { builtGroups, readBuiltCommands } from "./built.ts";
import { commandGroups } from "./groups.ts";

/** All groups: those that have commands written by hand, and those that only operations name. */
export const groupNames = async (): Promise<readonly string[]> =>
  builtGroups ?? [
    ...new Set([...Object.keys(commandGroups), ...(await (await import("./compose.ts")).listDerivedGroups())]),
  ];

/**
 * The tree as far as the words need it. Pages of help do without: the parser's library is loaded late. `adjust` makes of
 * each declaration the one to parse by.
 */
export async function loadParser(
  words: readonly string[],
  adjust = (declaration: DeclaredCommand): DeclaredCommand => declaration,
): Promise<Parser<DeclaredCommand>> {
  const [{ Parser }, names] = await Promise.all([import("../parse/parser.ts"), groupNames()]);
  const group = names.find((name) => name === words[0]);
  const named = group === undefined ? [] : findCommands(words, await loadCommands(group));
  return new Parser<DeclaredCommand>(
    names,
    named.map((one) => adjust(one.loadDeclaration())),
    words,
  );
}

/** A command line in which `--` is before a command that is to be run, also where it was omitted. */
export async function insertSeparator(argv: readonly string[]): Promise<readonly string[]> {
  const { words } = locateCommand(argv);
  const group = words.length > 1 ? (await groupNames()).find((name) => name === words[0]) : undefined;
  if (group === undefined) return argv;
  const named = (await loadCommands(group)).find(
    (one) => words.length > one.words.length && startsWithWords(words, one.words),
  );
  const declaration = named?.loadDeclaration();
  return declaration && runsInnerCommand(declaration) ? addSeparator(argv, declaration) : argv;
}

/**
 * What a command line means, as it would be run, with texts for values; undefined where it prints a page, or cannot be
 * parsed.
 */
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

/** The same command, whose flags take any text. */
const withTexts = (declaration: DeclaredCommand): DeclaredCommand => ({
  ...declaration,
  flags: declaration.flags.map(({ choices: _, ...flag }): FlagSpec => {
    const isSwitch = flag.type === "switch" || flag.type === "boolean";
    return isSwitch ? flag : { ...flag, type: "text" };
  }),
});

/** Every command of a group. */
export const loadDeclarations = async (group: string): Promise<readonly DeclaredCommand[]> =>
  (await loadCommands(group)).map((one) => one.loadDeclaration());

/** How the commands of a group are called. */
export const loadCommandWords = async (group: string): Promise<readonly (readonly string[])[]> =>
  (await loadCommands(group)).map(({ words }) => words);

/** The commands of a group, each of which is read when it is asked for. */
export const loadCommands = async (group: string): Promise<readonly ListedCommand[]> =>
  builtGroups ? readBuiltCommands(group) : (await import("./compose.ts")).composeCommands(group);

/**
 * The command that the words name, after those that its words begin with; all, where the words may mean several.
 * Shorter ones come first, so that `emulator clock` exists when `emulator clock advance` asks for its parent.
 */
function findCommands(words: readonly string[], commands: readonly ListedCommand[]): readonly ListedCommand[] {
  const all = [...commands].sort((a, b) => a.words.length - b.words.length);
  const named = all.filter((one) => startsWithWords(words, one.words));
  const deepest = named.at(-1);
  const isOne =
    deepest !== undefined && all.every((one) => one === deepest || !startsWithWords(one.words, deepest.words));
  return isOne ? named : all;
}

export interface TreeGroup {
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly CommandDeclaration[];
}

/** All groups with all their commands, for manifest and manual: the only ones that need the whole tree. */
export async function loadCommandTree(
  declarationsOf: (group: string) => Promise<readonly CommandDeclaration[]>,
): Promise<TreeGroup[]> {
  return Promise.all(
    (await groupNames()).map(async (name) => ({
      name,
      summary: commandGroups[name]?.summary ?? "",
      commands: await declarationsOf(name),
    })),
  );
}
