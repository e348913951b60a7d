import type { Operation } from "../api/operation.ts";
import type { ResourceName } from "../api/resources.ts";
import type { CommandDeclaration } from "./command-spec.ts";
import { deriveCommands } from "./commands.ts";
import { activitySection, failureSection } from "./reference/catalogue.ts";
import { flagTable, usage } from "./reference/commands.ts";
import { lifecycleSection } from "./reference/lifecycle.ts";
import { blocks, code, codes, table } from "./reference/markdown.ts";
import { operationSection } from "./reference/operations.ts";

/** What the page is made from. The command line hands in what it alone knows. */
export interface ReferenceParts {
  readonly byResource: ReadonlyMap<ResourceName, readonly Operation[]>;
  readonly handWritten: readonly CommandDeclaration[];
  readonly exitCodes: readonly { readonly code: number; readonly meaning: string }[];
}

/** The reference page: every operation, command, flag, failure, activity and exit code, as Markdown. */
export function renderReference({ byResource, handWritten, exitCodes }: ReferenceParts): string {
  const registry = [...byResource.values()].flat();
  const derived = deriveCommands(byResource);
  const commandFor = ({ id, cli }: Operation): CommandDeclaration | undefined =>
    "by" in cli
      ? handWritten.find(({ words }) => words.join(" ") === cli.by)
      : derived.find(({ operation }) => operation === id);
  const standing = new Set(registry.map(commandFor));

  const severalCalls = handWritten.filter((command) => !standing.has(command));
  return `${blocks(
    "# Reference",
    "Made from the declarations in `src/api` by `src/derive/reference.ts`; a test keeps it so. “Known from” says how sure the emulator is: the specification says so, public material of the service says so, or we assume it.",
    ...[...new Set(registry.map(({ service }) => service))].flatMap((service) => [
      `## ${service.title}`,
      service.failures.length > 0 ? `Any operation may also answer with ${codes(service.failures)}.` : "",
      ...registry
        .filter((operation) => operation.service === service)
        .map((operation) => operationSection(operation, commandFor(operation))),
    ]),
    severalCalls.length > 0 ? "## Commands of several calls" : "",
    ...severalCalls.flatMap((command) => [
      `### ${command.words.join(" ")}`,
      `${command.summary}.`,
      code(usage(command)),
      flagTable(command.flags),
    ]),
    lifecycleSection(),
    activitySection(registry),
    failureSection(),
    exitCodes.length > 0 ? "## Exit codes" : "",
    table(
      ["Code", "Meaning"],
      exitCodes.map(({ code, meaning }) => [String(code), meaning]),
    ),
  )}\n`;
}
