import type { CommandDeclaration } from "../derive/command-spec.ts";
import { groups } from "./groups.ts";
import { specGroups } from "./specs.ts";

export interface TreeGroup {
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly CommandDeclaration[];
}

/** All groups with all their commands, for manifest and manual: the only ones that need the whole tree. */
export async function wholeTree(
  declarationsOf: (group: string) => Promise<readonly CommandDeclaration[]>,
): Promise<TreeGroup[]> {
  const names = [...new Set([...Object.keys(groups), ...(await specGroups())])];
  return Promise.all(
    names.map(async (name) => ({ name, summary: groups[name]?.summary ?? "", commands: await declarationsOf(name) })),
  );
}
