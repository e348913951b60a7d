import { formatCommandLine } from "../process/shell-words.ts";
import { startsWithWords } from "./argv.ts";
import type { Globals } from "./globals.ts";

type CallTarget = Pick<Globals, "baseUrl" | "profile" | "emulator">;

/** The global flags that select a target, without secrets, for the next command line. */
export const formatTargetFlags = ({ baseUrl, profile, emulator }: CallTarget): string[] => [
  ...(baseUrl === undefined ? [] : ["--base-url", baseUrl]),
  ...(profile === undefined ? [] : ["--profile", profile]),
  ...(emulator ? ["--emulator"] : []),
];

/** Commands that call no service. */
const commandsWithoutTarget = [
  ["emulator", "start"],
  ["emulator", "exec"],
  ["emulator", "repair"],
];

/** Creates a command line that continues with the same target. */
export function buildNextArgv(next: readonly string[], place: CallTarget): readonly string[] {
  if (commandsWithoutTarget.some((words) => startsWithWords(next, words))) return next;
  const flags = formatTargetFlags(place);
  return next.includes(flags[0] ?? "") ? next : [...next, ...flags];
}

/** Formats that command line for pasting. */
export const formatNextCommand = (next: readonly string[], { globals }: { readonly globals: CallTarget }): string =>
  formatCommandLine(buildNextArgv(next, globals));
