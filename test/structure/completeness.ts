import type { Operation } from "../../src/api/operation.ts";
import type { SourceFile } from "./repository.ts";

/** Lists operations whose hand-written command does not exist. */
export const listOperationsWithoutCommand = (operations: readonly Operation[], commands: readonly string[]): string[] =>
  operations.flatMap(({ id, cli }) => ("by" in cli && !commands.includes(cli.by) ? [`${id} needs svc ${cli.by}`] : []));

/** Lists operations that no test mentions by id, by command, or by a matching path. */
export const listUntestedOperations = (operations: readonly Operation[], tests: readonly SourceFile[]): string[] => {
  const text = tests.map(({ text }) => text).join("\n");
  return operations
    .filter(({ id, path, cli }) => {
      const command = "by" in cli ? cli.by : cli.command;
      return (
        ![
          `"${id}"`,
          `"${command}`,
          command
            .split(" ")
            .map((word) => `"${word}"`)
            .join(", "),
        ].some((words) => text.includes(words)) && !createPathPattern(path).test(text)
      );
    })
    .map(({ id, path }) => `${id} has no test: no file below test contains its ID, its command or ${path}`);
};

/** Matches a path in a test, with a value or `${…}` in the position of each parameter. */
function createPathPattern(path: string): RegExp {
  // Tests reach the control plane from its own base URL.
  const parts = path
    .replace("/_emulator/", "")
    .split(/\{[a-z_]+\}/)
    .map(escapeRegExp);
  return new RegExp(`["'\`/}]${parts.join("(?:\\$\\{[^}]*\\}|[^\"'`/\\s]+)")}["'\`?]`);
}

/**
 * Name of a file in the folder of a run, with one line for each operation or service and each failure that its
 * emulators returned.
 */
export const returnedFailuresFile = "returned-failures.txt";

/**
 * Lists declared failures that were never returned, as `<operation> <failure>`, or `<service> <failure>` if all
 * operations of a service declare the failure. `returned` has the lines of the file.
 */
export function listUnreturnedFailures(operations: readonly Operation[], returned: ReadonlySet<string>): string[] {
  const services = new Map(operations.map(({ service }) => [service.name, service]));
  return [
    ...operations.flatMap(({ id, failures }) => failures.map((code) => `${id} ${code}`)),
    ...[...services.values()].flatMap(({ name, failures }) => failures.map((code) => `${name} ${code}`)),
  ].filter((line) => !returned.has(line));
}

const escapeRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
