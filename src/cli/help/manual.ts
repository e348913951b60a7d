import type { CommandDeclaration, FlagSpec } from "../../derive/command-spec.ts";
import type { TreeGroup } from "../command-tree/tree.ts";
import { globalFlags } from "../parse/globals.ts";
import { environmentVariables } from "../process/environment.ts";
import { exitCodes } from "../process/exit.ts";
import { exampleLine } from "../process/shell-words.ts";

/**
 * The manual page svc(1), in the man macros: `svc help --man`, and what the package installs. By hand: a few macros over
 * the declarations, where a generator wants a page in another language first.
 */
export const manualPage = (tree: readonly TreeGroup[], version: string): string =>
  [
    `.TH SVC 1 "" "svc ${roff(version)}" "User Commands"`,
    section("NAME", ["svc \\- command\\-line toolkit and local emulator for a contract platform"]),
    section("SYNOPSIS", [".B svc", "\\fIgroup\\fR \\fIcommand\\fR [\\fIoptions\\fR]"]),
    section("DESCRIPTION", [
      roff("svc calls every operation of the routing service and of the public contract API, at a real address or at"),
      roff("an emulator of both that runs on this machine. Data goes to standard output, all else to standard error."),
    ]),
    section("COMMANDS", tree.flatMap(groupLines)),
    section("GLOBAL OPTIONS", globalFlags.flatMap(flagLines)),
    section(
      "EXIT STATUS",
      exitCodes.flatMap(({ code, meaning }) => item(String(code), meaning)),
    ),
    section(
      "ENVIRONMENT",
      environmentVariables.flatMap(([name, text]) => item(name, text)),
    ),
  ]
    .join("\n")
    .concat("\n");

const section = (title: string, lines: readonly string[]): string => [`.SH ${title}`, ...lines].join("\n");

const groupLines = ({ name, summary, commands }: TreeGroup): string[] => [
  `.SS ${roff(name)}`,
  ...(summary ? [roff(`${summary}.`)] : []),
  ...commands.flatMap(commandLines),
];

function commandLines({
  words,
  summary,
  description = "",
  positionals,
  flags,
  examples,
}: CommandDeclaration): string[] {
  const usage = positionals.map(({ name, optional, variadic }) => {
    const shown = `\\fI${roff(name.replaceAll("_", "-"))}\\fR${variadic ? "..." : ""}`;
    return optional ? `[${shown}]` : shown;
  });
  return [
    ".TP",
    `\\fBsvc ${roff(words.join(" "))}\\fR ${usage.join(" ")}`.trimEnd(),
    roff(`${summary}. ${description}`),
    ...(flags.length > 0 ? [".RS", ...flags.flatMap(flagLines), ".RE"] : []),
    ...examples.slice(0, 1).flatMap((example) => [".RS", ".PP", roff(exampleLine(example)), ".RE"]),
  ];
}

function flagLines({ flag, short, type, placeholder, description, default: usual }: FlagSpec): string[] {
  const value = type === "switch" || type === "boolean" ? "" : ` ${placeholder ?? "VALUE"}`;
  const name = `${short ? `-${short}, ` : ""}--${flag}${value}`;
  return item(name, `${description}${usual === undefined ? "" : ` (default: ${usual})`}`);
}

const item = (name: string, text: string): string[] => [".TP", `\\fB${roff(name)}\\fR`, roff(text)];

/** Text that means itself: no escapes, no hyphens that a search would miss, no request at the start of a line. */
const roff = (text: string): string =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(" ")
    .replace(/^([.'])/, "\\&$1")
    .replace(/[^\x20-\x7e]/gu, (char) => `\\[u${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}]`);
