import { groups } from "../../src/cli/groups.ts";
import type { CommandDeclaration } from "../../src/derive/command-spec.ts";

/** Every hand-written command of the command line, in the order of the root help. */
export async function handWrittenCommands(): Promise<CommandDeclaration[]> {
  const loaded = await Promise.all(Object.values(groups).map((group) => group.commands?.()));
  return loaded.flatMap((module) => module?.commands ?? []);
}
