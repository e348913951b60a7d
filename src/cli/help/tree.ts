import type { CommandDeclaration } from "../../derive/command-spec.ts";
import { commandGroups } from "../commands/groups.ts";
import { groupNames } from "../commands/tree.ts";

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
