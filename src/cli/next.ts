import type { Context } from "./command.ts";
import { commandLine } from "./help/examples.ts";
import { begins } from "./parse/argv.ts";
import type { Globals } from "./parse/globals.ts";

type CallTarget = Pick<Globals, "baseUrl" | "profile" | "emulator">;

/** The global flags that say where calls go, as the next command line needs them too; none of them is a secret. */
export const placeFlags = ({ baseUrl, profile, emulator }: CallTarget): string[] => [
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

/** A command line to go on with, which goes where this one went. */
export function nextArgv(next: readonly string[], place: CallTarget): readonly string[] {
  if (placeless.some((words) => begins(next, words))) return next;
  const flags = placeFlags(place);
  return next.includes(flags[0] ?? "") ? next : [...next, ...flags];
}

/** The same as a line to paste. */
export const nextLine = (next: readonly string[], { globals }: Pick<Context, "globals">): string =>
  commandLine(nextArgv(next, globals));
