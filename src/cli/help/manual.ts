import { svcVersion } from "../../base/version.ts";
import type { CommandDeclaration } from "../../derive/command-spec.ts";
import { globalFlags } from "../parse/globals.ts";
import type { CommandTreeGroup } from "../parse/manifest.ts";
import { environmentVariables } from "../process/environment.ts";
import { exitCodes } from "../process/exit.ts";
import { formatExample } from "../process/shell-words.ts";
import { createFlagRow, createPositionalTable } from "./layout.ts";

/** Formats svc(1). Generators need a page in another language first (ARCHITECTURE.md, Written by hand). */
export const formatManual = (tree: readonly CommandTreeGroup[]): string =>
  [
    `.TH SVC 1 "" "svc ${escapeRoff(svcVersion)}" "User Commands"`,
    // Aligned and hyphenated text breaks the names of options and variables, so that a search misses them.
    ...[".nh", ".ad l"],
    formatSection("NAME", ["svc \\- command\\-line toolkit and local emulator for a contract platform"]),
    formatSection("SYNOPSIS", [".B svc", "\\fIgroup\\fR \\fIcommand\\fR [\\fIoptions\\fR]"]),
    formatSection("DESCRIPTION", [
      "svc calls every operation of the routing service and of the public contract API, at a real address or at",
      "an emulator of both that runs on this machine. Data goes to standard output, everything else to standard error.",
    ]),
    formatSection("COMMANDS", tree.flatMap(groupLines)),
    formatSection(
      "GLOBAL OPTIONS",
      globalFlags.flatMap((spec) => formatItem(...createFlagRow(spec))),
    ),
    formatSection(
      "EXIT STATUS",
      exitCodes.flatMap(({ code, meaning }) => formatItem(String(code), meaning)),
    ),
    formatSection(
      "ENVIRONMENT",
      environmentVariables.flatMap(([name, text]) => formatItem(name, text)),
    ),
    "",
  ].join("\n");

const formatSection = (title: string, lines: readonly string[]): string => [`.SH ${title}`, ...lines].join("\n");

const groupLines = ({ name, summary, commands }: CommandTreeGroup): string[] => [
  `.SS ${escapeRoff(name)}`,
  ...(summary ? [escapeRoff(`${summary}.`)] : []),
  ...commands.flatMap(formatCommand),
];

function formatCommand(command: CommandDeclaration): string[] {
  const { words, summary, description = "", positionals, flags, examples, bodyFrom } = command;
  const usage = positionals.map(({ name, optional, variadic }) => {
    const label = `\\fI${escapeRoff(name.replaceAll("_", "-"))}\\fR${variadic ? "..." : ""}`;
    return optional ? `[${label}]` : label;
  });
  const items = [...createPositionalTable(positionals).rows, ...flags.map((spec) => createFlagRow(spec, bodyFrom))];
  return [
    ".TP",
    `\\fBsvc ${escapeRoff(words.join(" "))}\\fR ${usage.join(" ")}`.trimEnd(),
    escapeRoff(`${summary}. ${description}`),
    ...(items.length > 0 ? [".RS", ...items.flatMap(([term, text]) => formatItem(term, text)), ".RE"] : []),
    ...examples.slice(0, 1).flatMap((example) => [".RS", ".PP", escapeRoff(formatExample(example)), ".RE"]),
  ];
}

const formatItem = (name: string, text: string): string[] => [".TP", `\\fB${escapeRoff(name)}\\fR`, escapeRoff(text)];

/** Escapes hyphens, which a search would miss otherwise, and a request at the start of the text. */
const escapeRoff = (text: string): string =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(" ")
    .replace(/^([.'])/, "\\&$1")
    .replace(/[^\x20-\x7e]/gu, (char) => `\\[u${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}]`);
