import { type ControlRole, controlRoles, isAllowed } from "../api/control-plane.ts";
import { getRequiredRole } from "../api/operation.ts";
import { getOperationById, operationsByResource } from "../api/registry.ts";
import { groupBy, lookupTable } from "../base/object.ts";
import type { CommandSpec } from "./command-spec.ts";
import { deriveCommand } from "./commands.ts";

type CommandGroups = Readonly<Record<string, readonly CommandSpec[]>>;

const deriveAll = (): CommandSpec[] =>
  [...operationsByResource].flatMap(([resource, operations]) =>
    operations.map((operation) => deriveCommand(operation, resource)),
  );

let cachedGroups: CommandGroups | undefined;

/**
 * Derives the commands of the whole registry, by group. Development derives them at run time, and the build writes them
 * to a file.
 */
export const deriveSpecs = (): CommandGroups => {
  cachedGroups ??= lookupTable(Object.fromEntries(groupBy(deriveAll(), ({ words }) => words[0]!)));
  return cachedGroups;
};

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

/** Returns the operations of the control plane as plain data, because the page contains no schemas. */
export function deriveConsoleOperations(): Record<string, ConsoleOperation> {
  const specs = deriveAll().filter(({ service }) => service.name === "emulator");
  return Object.fromEntries(
    specs.map((spec) => {
      const needs = getRequiredRole(getOperationById(spec.id));
      const flags = spec.flags.flatMap(({ flag, target }) => (target ? [[`${target.in}.${target.name}`, flag]] : []));
      return [
        spec.id,
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
