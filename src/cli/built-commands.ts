import { readFileSync } from "node:fs";
import type { Listed } from "./declared.ts";

/**
 * Set by the build: a line for each command, of its words. What is declared of it stands in a file beside the bundle, so
 * that neither the registry nor a command written by hand is loaded to parse or to help, nor more read than is meant.
 */
declare const SVC_COMMANDS: string | undefined;

const commands =
  typeof SVC_COMMANDS === "undefined" ? undefined : SVC_COMMANDS.split("\n").map((line) => line.split(" "));

/** In the order of the root help. */
export const builtGroups: readonly string[] | undefined = commands && [...new Set(commands.map(([group]) => group!))];

/** The file of a command, below the folder of the bundle. */
export const commandFile = (words: readonly string[]): string => `commands/${words.join(".")}.json`;

/** The commands of one group. */
export const builtCommands = (group: string): readonly Listed[] =>
  (commands ?? [])
    .filter((words) => words[0] === group)
    .map((words) => ({
      words,
      declaration: () => JSON.parse(readFileSync(new URL(commandFile(words), import.meta.url), "utf8")),
    }));
