import type { Operation } from "../api/operation.ts";
import { byResource } from "../api/registry.ts";
import type { ResourceName } from "../api/resources.ts";
import type { CommandSpec } from "./command-spec.ts";
import { deriveCommands } from "./commands.ts";

/** The derived commands of the whole registry by group. Development derives them on the fly; the build writes them out. */
export function deriveSpecs(): Record<string, CommandSpec[]> {
  const groups: Record<string, CommandSpec[]> = Object.create(null);
  for (const spec of deriveCommands(byResource as ReadonlyMap<ResourceName, readonly Operation[]>)) {
    const group = spec.words[0]!;
    groups[group] ??= [];
    groups[group].push(spec);
  }
  return groups;
}
