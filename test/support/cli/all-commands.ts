import type { Command } from "../../../src/cli/command.ts";
import { commandGroups } from "../../../src/cli/command-tree/groups.ts";
import { loadDeclarations } from "../../../src/cli/command-tree/tree.ts";
import { writtenModules } from "../../../src/cli/command-tree/written-commands.ts";
import type { CommandDeclaration } from "../../../src/derive/command-spec.ts";
import { deriveSpecs } from "../../../src/derive/specs.ts";

/** Loads the whole command tree in the order of the root help. */
export async function loadAllCommands(): Promise<CommandDeclaration[]> {
  const names = new Set([...Object.keys(commandGroups), ...Object.keys(deriveSpecs())]);
  return (await Promise.all([...names].map(loadDeclarations))).flat();
}

/** Loads the hand-written commands. */
export async function loadHandWrittenCommands(): Promise<Command[]> {
  const loaders = new Set(Object.values(writtenModules).flat());
  return (await Promise.all([...loaders].map((load) => load()))).flatMap(({ commands }) => commands);
}
