import type { Operation } from "../../src/api/operation.ts";
import type { SourceFile } from "./repository.ts";

/** Operations whose hand-written command does not exist. */
export const withoutCommand = (operations: readonly Operation[], commands: readonly string[]): string[] =>
  operations.flatMap(({ id, cli }) => ("by" in cli && !commands.includes(cli.by) ? [`${id} needs svc ${cli.by}`] : []));

/** Operations that no test mentions: by id, by command, or by a path that fits. */
export const untested = (operations: readonly Operation[], tests: readonly SourceFile[]): string[] => {
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
        ].some((words) => text.includes(words)) && !pathPattern(path).test(text)
      );
    })
    .map(({ id }) => id);
};

/** A path as tests write it: with a value, or with `${…}`, in each place of a name. */
function pathPattern(path: string): RegExp {
  // Tests reach the control plane from its own base URL.
  const parts = path
    .replace("/_emulator/", "")
    .split(/\{[a-z_]+\}/)
    .map(literal);
  return new RegExp(`["'\`/}]${parts.join("(?:\\$\\{[^}]*\\}|[^\"'`/\\s]+)")}["'\`?]`);
}

/** In the folder of a run: what its emulators refused, a line for each operation or service with a failure. */
export const answeredFile = "answered.txt";

/**
 * What is declared and was never answered, as `<operation> <failure>`, or `<service> <failure>` where all operations of
 * a service declare it. `answered`: the lines of that file.
 */
export function unanswered(operations: readonly Operation[], answered: ReadonlySet<string>): string[] {
  const services = new Map(operations.map(({ service }) => [service.name, service]));
  return [
    ...operations.flatMap(({ id, failures }) => failures.map((code) => `${id} ${code}`)),
    ...[...services.values()].flatMap(({ name, failures }) => failures.map((code) => `${name} ${code}`)),
  ].filter((line) => !answered.has(line));
}

const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
