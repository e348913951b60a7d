import { formatCommandLine } from "../process/shell-words.ts";
import { startsWithWords } from "./argv.ts";
import type { Globals } from "./globals.ts";

type CallTarget = Pick<Globals, "baseUrl" | "profile" | "emulator">;

/** The global flags that say where calls go, as the next command line needs them too; none of them is a secret. */
export const formatTargetFlags = ({ baseUrl, profile, emulator }: CallTarget): string[] => [
  ...(baseUrl === undefined ? [] : ["--base-url", baseUrl]),
  ...(profile === undefined ? [] : ["--profile", profile]),
  ...(emulator ? ["--emulator"] : []),
];

/** Commands that call no service. */
const placeless = [
  ["emulator", "start"],
  ["emulator", "exec"],
  ["emulator", "repair"],
];

/** A command line to continue with, for the same target. */
export function buildNextArgv(next: readonly string[], place: CallTarget): readonly string[] {
  if (placeless.some((words) => startsWithWords(next, words))) return next;
  const flags = formatTargetFlags(place);
  return next.includes(flags[0] ?? "") ? next : [...next, ...flags];
}

/** The same as a line to paste. */
export const formatNextCommand = (next: readonly string[], { globals }: { readonly globals: CallTarget }): string =>
  formatCommandLine(buildNextArgv(next, globals));
