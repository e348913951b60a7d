import { type ControlRole, controlRoles, isAllowed } from "../api/control-roles.ts";
import { getRequiredRole, type Operation } from "../api/operation.ts";
import { operationsByResource, registry } from "../api/registry.ts";
import type { ResourceName } from "../api/resources.ts";
import { deriveCommands } from "./commands.ts";

/** Data about an operation in the console, for the call and for its command. */
export interface ConsoleOperation {
  readonly method: string;
  readonly path: string;
  readonly command: string;
  readonly positionals: readonly string[];
  /** Flag of each field, by its path: the flag of `body.until_idle` is `until-idle`. */
  readonly flags: Readonly<Record<string, string>>;
  /** Roles whose tokens are accepted, lowest first. Missing if every caller is accepted. */
  readonly allowed?: readonly ControlRole[];
  /** Set if the command requires confirmation unless `--yes` is given. */
  readonly confirmed?: true;
}

/**
 * Returns the operations with these IDs as plain data, because the page contains no schemas. Throws if an operation
 * does not exist.
 */
export function deriveConsoleOperations(ids: readonly string[]): Record<string, ConsoleOperation> {
  const operations: readonly Operation[] = registry;
  const needed = new Map(operations.map((operation) => [operation.id, getRequiredRole(operation)]));
  const specs = new Map(
    deriveCommands(operationsByResource as ReadonlyMap<ResourceName, readonly Operation[]>).map((spec) => [
      spec.operation,
      spec,
    ]),
  );
  return Object.fromEntries(
    ids.map((id) => {
      const spec = specs.get(id);
      if (!spec) throw new Error(`Operation ${id} not found`);
      const needs = needed.get(id);
      const flags = spec.flags.flatMap(({ flag, target }) => (target ? [[`${target.in}.${target.name}`, flag]] : []));
      return [
        id,
        {
          method: [spec.method].flat()[0]!,
          path: spec.path,
          command: spec.words.join(" "),
          positionals: spec.positionals.map(({ name }) => name),
          flags: Object.fromEntries(flags),
          ...(needs && { allowed: controlRoles.filter((role) => isAllowed(role, needs)) }),
          ...(spec.confirm ? { confirmed: true as const } : {}),
        },
      ];
    }),
  );
}
