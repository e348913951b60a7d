import type { Operation } from "../api/operation.ts";
import { operationsByResource } from "../api/registry.ts";
import type { ResourceName } from "../api/resources.ts";
import type { CommandSpec } from "./command-spec.ts";
import { deriveCommands } from "./commands.ts";

type CommandGroups = Readonly<Record<string, readonly CommandSpec[]>>;

let cachedGroups: CommandGroups | undefined;

/**
 * Derives the commands of the whole registry, by group. Development derives them at run time, and the build writes them
 * to a file.
 */
export const deriveSpecs = (): CommandGroups => {
  cachedGroups ??= groupCommands(
    deriveCommands(operationsByResource as ReadonlyMap<ResourceName, readonly Operation[]>),
  );
  return cachedGroups;
};

function groupCommands(specs: readonly CommandSpec[]): CommandGroups {
  const groups: Record<string, CommandSpec[]> = Object.create(null);
  for (const spec of specs) {
    const group = spec.words[0]!;
    groups[group] ??= [];
    groups[group].push(spec);
  }
  return groups;
}
