import type { Operation } from "../api/operation.ts";
import type { CommandDeclaration, FlagSpec } from "./command-spec.ts";
import type { ObservedClaims } from "./observed.ts";
import { activitySection, failureSection, renderUnemulatedSection } from "./reference/catalogue.ts";
import { describeCommand, flagTable, usage } from "./reference/commands.ts";
import { lifecycleSection } from "./reference/lifecycle.ts";
import { blocks, code, codes, renderMarkdownTable } from "./reference/markdown.ts";
import { operationSection } from "./reference/operations.ts";

/** What the page is made from. The command line hands in what it alone knows: its whole tree, and the exit codes. */
export interface ReferenceParts {
  readonly registry: readonly Operation[];
  readonly commands: readonly CommandDeclaration[];
  readonly globalFlags: readonly FlagSpec[];
  readonly exitCodes: readonly { readonly code: number; readonly meaning: string }[];
  readonly observed?: ObservedClaims;
}

/** The reference page: every operation, command, flag, failure, activity and exit code, as Markdown. */
export function renderReference({ registry, commands, globalFlags, exitCodes, observed = {} }: ReferenceParts): string {
  const byWords = new Map(commands.map((command) => [command.words.join(" "), command]));
  const commandFor = ({ cli }: Operation) => byWords.get("by" in cli ? cli.by : cli.command);
  const standing = new Set(registry.map(commandFor));

  const severalCalls = commands.filter((command) => !standing.has(command));
  return `${blocks(
    "# Reference",
    "Generated from the declarations in `src/api` by `src/derive/reference.ts`. “Known from” is the source of a fact: the specification, public material of the service, or an assumption.",
    ...[...new Set(registry.map(({ service }) => service))].flatMap((service) => [
      `## ${service.title}`,
      service.failures.length > 0 ? `Any operation may also respond with ${codes(service.failures)}.` : "",
      ...registry
        .filter((operation) => operation.service === service)
        .map((operation) => operationSection(operation, commandFor(operation), observed[operation.id])),
    ]),
    globalFlags.length > 0 ? "## Flags of every command" : "",
    flagTable(globalFlags),
    severalCalls.length > 0 ? "## Commands of several requests" : "",
    ...severalCalls.flatMap((command) => [
      `### ${command.words.join(" ")}`,
      ...describeCommand(command),
      code(usage(command)),
      flagTable(command.flags),
    ]),
    renderUnemulatedSection(),
    lifecycleSection(),
    activitySection(registry),
    failureSection(observed),
    exitCodes.length > 0 ? "## Exit codes" : "",
    renderMarkdownTable(
      ["Code", "Meaning"],
      exitCodes.map(({ code, meaning }) => [String(code), meaning]),
    ),
  )}\n`;
}
