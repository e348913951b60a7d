import { type Operation, roleOf } from "../../api/operation.ts";
import type { CommandDeclaration } from "../command-spec.ts";
import type { ObservedClaim } from "../observed.ts";
import { basisWords } from "./basis.ts";
import { describeCommand, flagTable, usage } from "./commands.ts";
import { blocks, code, codes } from "./markdown.ts";

/** One operation with its command; `command` is undefined while the hand-written one is missing. */
export function operationSection(
  operation: Operation,
  command: CommandDeclaration | undefined,
  seen: ObservedClaim | undefined,
): string {
  const {
    id,
    summary,
    description,
    method,
    path,
    auth,
    responses,
    failures,
    clusterFailures = [],
    emits,
    basis,
  } = operation;
  const facts: [string, string][] = [
    ["Route", code(`${[method].flat().join("|")} ${path}`)],
    ["Credentials", auth],
    ["Role", roleOf(operation) ?? ""],
    [
      "Answers",
      Object.entries(responses)
        .map(([status, { kind }]) => `${status} (${kind})`)
        .join(", "),
    ],
    ["Failures", codes(failures)],
    ["Failures of its cluster", codes(clusterFailures)],
    ["Emits", codes(emits ?? [])],
    ["Known from", basisWords(basis, seen)],
  ];
  return blocks(
    `### ${id}`,
    `${summary}.${description === undefined ? "" : ` ${description}`}`,
    facts.filter(([, text]) => text !== "").map(([name, text]) => `- ${name}: ${text}`),
    command ? `${code(usage(command))}` : "",
    ...(command ? describeCommand(command, [`${summary}.`, description ?? ""]) : []),
    command ? flagTable(command.flags) : [],
  );
}
