import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ListedCommand } from "../parse/declaration.ts";

/**
 * Set by the build: a line for each command, of its words. What is declared of it is in the file of its group next to
 * the bundle, so that neither the registry nor a command written by hand is loaded to parse or to help.
 */
declare const SVC_COMMANDS: string | undefined;

const commands =
  typeof SVC_COMMANDS === "undefined" ? undefined : SVC_COMMANDS.split("\n").map((line) => line.split(" "));

/** In the order of the root help. */
export const builtGroups: readonly string[] | undefined = commands && [...new Set(commands.map(([group]) => group!))];

/** The file of a group's commands, below the folder of the bundle: a line of JSON for each, in their order. */
export const getCommandsFile = (group: string): string => `commands/${group}.ndjson`;

/** The commands of one group: lines of its file that are not needed are not parsed. */
export const readBuiltCommands = (group: string): readonly ListedCommand[] =>
  (commands ?? [])
    .filter((words) => words[0] === group)
    .map((words, line) => ({ words, loadDeclaration: () => JSON.parse(readLines(group)[line]!) }));

const lines = new Map<string, readonly string[]>();

function readLines(group: string): readonly string[] {
  const found = lines.get(group) ?? readFileSync(join(import.meta.dirname, getCommandsFile(group)), "utf8").split("\n");
  lines.set(group, found);
  return found;
}
