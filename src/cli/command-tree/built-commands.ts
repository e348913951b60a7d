import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ListedCommand } from "../parse/declaration.ts";

/**
 * The build sets this to one line per command with its words. The declarations are in the file of the group next to the
 * bundle. Parsing and help therefore load neither the registry nor the hand-written commands.
 */
declare const SVC_COMMANDS: string | undefined;

const commands =
  typeof SVC_COMMANDS === "undefined" ? undefined : SVC_COMMANDS.split("\n").map((line) => line.split(" "));

/** Groups in the order of the root help. Undefined when the program runs from its sources. */
export const builtGroups: readonly string[] | undefined = commands && [...new Set(commands.map(([group]) => group!))];

/** File with the commands of a group next to the bundle: one JSON line per command. */
export const getCommandsFile = (group: string): string => `commands/${group}.ndjson`;

/** Reads the commands of one group. Each line is parsed on first use of its command. */
export const readBuiltCommands = (group: string): readonly ListedCommand[] =>
  (commands ?? [])
    .filter((words) => words[0] === group)
    .map((words, line) => ({ words, loadDeclaration: () => JSON.parse(readLines(group)[line]!) }));

const lines = new Map<string, readonly string[]>();

function readLines(group: string): readonly string[] {
  const commands =
    lines.get(group) ?? readFileSync(join(import.meta.dirname, getCommandsFile(group)), "utf8").split("\n");
  lines.set(group, commands);
  return commands;
}
