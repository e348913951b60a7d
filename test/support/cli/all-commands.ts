import { commandGroups } from "../../../src/cli/command-tree/groups.ts";
import { loadDeclarations } from "../../../src/cli/command-tree/tree.ts";
import { writtenModules } from "../../../src/cli/command-tree/written-commands.ts";
import type { CommandDeclaration } from "../../../src/derive/command-spec.ts";
import { deriveSpecs } from "../../../src/derive/specs.ts";

/** The whole command tree as people see it, in the order of the root help. */
export async function allCommands(): Promise<CommandDeclaration[]> {
  const names = new Set([...Object.keys(commandGroups), ...Object.keys(deriveSpecs())]);
  return (await Promise.all([...names].map(loadDeclarations))).flat();
}

/** The commands that are written by hand. */
export async function handWrittenCommands(): Promise<CommandDeclaration[]> {
  return (await Promise.all(writtenModules.map(([load]) => load()))).flatMap(({ commands }) => commands);
}
