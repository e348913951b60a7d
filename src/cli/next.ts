import type { Context } from "./command.ts";
import { commandLine } from "./help/examples.ts";
import type { Host } from "./host.ts";
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
  ["emulator", "repair"],
];

/** A command line to go on with, which goes where this one went. */
export function nextArgv(next: readonly string[], place: CallTarget): readonly string[] {
  if (placeless.some((words) => begins(next, words))) return next;
  const flags = placeFlags(place);
  return next.includes(flags[0] ?? "") ? next : [...next, ...flags];
}

/** The same as a line to paste. */
export const nextLine = (next: readonly string[], { globals, host }: Pick<Context, "globals" | "host">): string =>
  commandLine(nextArgv(next, globals), programName(host));

/** What a person types to run this program once more: what npx has run, no shell finds by its name. */
export function programName({ env }: Pick<Host, "env">): string {
  const [, name] =
    (env.npm_lifecycle_event === "npx" && /^'?(svc(?:-toolkit)?)'?(?: |$)/.exec(env.npm_lifecycle_script ?? "")) || [];
  return name === undefined ? "svc" : `npx ${name}`;
}
