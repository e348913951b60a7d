import type { CommandSpec } from "../../derive/command-spec.ts";
import { deriveSpecs } from "../../derive/specs.ts";
import type { Command } from "../command.ts";
import type { DeclaredCommand, ListedCommand } from "../parse/declaration.ts";
import { loadWrittenCommands } from "./written-commands.ts";

export const listDerivedGroups = (): readonly string[] => Object.keys(deriveSpecs());

const commandsByGroup = new Map<string, Promise<readonly ListedCommand[]>>();

/** Composes the commands of a group from the registry and the hand-written commands, for development and the build. */
export function composeCommands(group: string): Promise<readonly ListedCommand[]> {
  const commands = commandsByGroup.get(group) ?? composeGroup(group);
  commandsByGroup.set(group, commands);
  return commands;
}

async function composeGroup(group: string): Promise<readonly ListedCommand[]> {
  const byWords = new Map((deriveSpecs()[group] ?? []).map((spec) => [spec.words.join(" "), spec]));
  const adjustedCommands = (await loadWrittenCommands(group)).map(([command, module]) => {
    const words = command.words.join(" ");
    const spec = byWords.get(words);
    byWords.delete(words);
    return { ...toDeclaredCommand(command, spec), module };
  });
  return [...adjustedCommands, ...byWords.values()].map((command) => ({
    words: command.words,
    loadDeclaration: () => command,
  }));
}

/** A hand-written command replaces the derived command with the same words. */
function toDeclaredCommand(
  { run: _, readsDerived: __, ...command }: Command,
  spec: CommandSpec | undefined,
): DeclaredCommand {
  if (!spec || !command.extendsDerived) return { ...command, spec };
  const flags = new Set(command.flags.map(({ flag }) => flag));
  const positionals = new Set(command.positionals.map(({ name }) => name));
  return {
    ...command,
    spec,
    ...(command.description === undefined && spec.description !== undefined ? { description: spec.description } : {}),
    positionals: [...command.positionals, ...spec.positionals.filter(({ name }) => !positionals.has(name))],
    flags: [...command.flags, ...spec.flags.filter(({ flag }) => !flags.has(flag))],
    examples: [...command.examples, ...spec.examples],
  };
}
