import { builtCommands, builtGroups } from "./built-commands.ts";
import type { Declared, Listed } from "./declared.ts";
import { groups } from "./groups.ts";
import { begins, locate } from "./parse/argv.ts";
import type { Parser } from "./parse/parser.ts";
import { passesOn, withSeparator } from "./parse/passed-on.ts";

/** All groups: those that have commands written by hand, and those that only operations name. */
export const groupNames = async (): Promise<readonly string[]> =>
  builtGroups ?? [...new Set([...Object.keys(groups), ...(await (await import("./composed.ts")).derivedGroups())])];

/** The tree as far as the words need it. Pages of help do without: the parser's library is loaded late. */
export async function parserFor(words: readonly string[]): Promise<Parser<Declared>> {
  const [{ Parser }, names] = await Promise.all([import("./parse/parser.ts"), groupNames()]);
  const group = names.find((name) => name === words[0]);
  const named = group === undefined ? [] : ledTo(words, await commandsOf(group));
  return new Parser<Declared>(
    names,
    named.map((one) => one.declaration()),
    words,
  );
}

/** A command line in which `--` stands before a command that is to be run, also where it was left out. */
export async function separated(argv: readonly string[]): Promise<readonly string[]> {
  const { words } = locate(argv);
  const group = words.length > 1 ? (await groupNames()).find((name) => name === words[0]) : undefined;
  if (group === undefined) return argv;
  const named = (await commandsOf(group)).find((one) => words.length > one.words.length && begins(words, one.words));
  const declaration = named?.declaration();
  return declaration && passesOn(declaration) ? withSeparator(argv, declaration) : argv;
}

/** Every command of a group. */
export const declarationsOf = async (group: string): Promise<readonly Declared[]> =>
  (await commandsOf(group)).map((one) => one.declaration());

/** How the commands of a group are called. */
export const commandWordsOf = async (group: string): Promise<readonly (readonly string[])[]> =>
  (await commandsOf(group)).map(({ words }) => words);

/** The commands of a group, each of which is read when it is asked for. */
export const commandsOf = async (group: string): Promise<readonly Listed[]> =>
  builtGroups ? builtCommands(group) : (await import("./composed.ts")).composedCommands(group);

/**
 * The command that the words name, after those that its words begin with; all, where the words may mean several.
 * Shorter ones come first, so that `emulator clock` exists when `emulator clock advance` asks for its parent.
 */
function ledTo(words: readonly string[], commands: readonly Listed[]): readonly Listed[] {
  const all = [...commands].sort((a, b) => a.words.length - b.words.length);
  const named = all.filter((one) => begins(words, one.words));
  const deepest = named.at(-1);
  const isOne = deepest !== undefined && all.every((one) => one === deepest || !begins(one.words, deepest.words));
  return isOne ? named : all;
}
