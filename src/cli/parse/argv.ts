import type { CommandDeclaration, FlagSpec } from "../../derive/command-spec.ts";
import { formatCommandLine } from "../process/shell-words.ts";
import { formatFlagValue } from "./declaration.ts";
import { type GlobalOptions, globalFlags } from "./globals.ts";

/** Splits `--json=a,b` into two flags, because a flag with an optional value would consume the next positional. */
export function normalizeArgv(argv: readonly string[]): string[] {
  const end = argv.indexOf("--");
  const own = end < 0 ? argv : argv.slice(0, end);
  return [
    ...own.flatMap((token) => (token.startsWith("--json=") ? ["--json", "--fields", token.slice(7)] : [token])),
    ...(end < 0 ? [] : argv.slice(end)),
  ];
}

const takesValue: ReadonlySet<string> = new Set(
  globalFlags.flatMap(({ flag, type }) => (type === "switch" || type === "boolean" ? [] : [`--${flag}`])),
);

/** Facts about a command line before its group is known. */
export interface CommandLocation {
  /** Bare words up to `--` without the values of global flags: the command's words, then its positionals. */
  readonly words: readonly string[];
  readonly wantsHelp: boolean;
}

export function locateCommand(argv: readonly string[]): CommandLocation {
  const words: string[] = [];
  let wantsHelp = false;
  for (let i = 0; i < argv.length; i += 1) {
    const token = argv[i]!;
    if (token === "--") break;
    if (token === "-h" || token === "--help") wantsHelp = true;
    else if (takesValue.has(token)) i += 1;
    else if (!token.startsWith("-") || token === "-") words.push(token);
  }
  return { words, wantsHelp };
}

export function parseTargetFlags(argv: readonly string[]): Pick<GlobalOptions, "baseUrl" | "profile" | "emulator"> {
  const getFlagValue = (flag: string) => {
    const at = argv.findIndex((token) => token === flag || token.startsWith(`${flag}=`));
    return at < 0 ? undefined : argv[at] === flag ? argv[at + 1] : argv[at]!.slice(flag.length + 1);
  };
  return {
    baseUrl: getFlagValue("--base-url"),
    profile: getFlagValue("--profile"),
    emulator: argv.includes("--emulator"),
  };
}

export const startsWithWords = (words: readonly string[], start: readonly string[]): boolean =>
  start.every((word, i) => word === words[i]);

/** Reports whether a command runs another one and leaves its words unchanged. */
export const runsInnerCommand = (declaration: CommandDeclaration): boolean =>
  (declaration as { passthrough?: boolean }).passthrough === true;

/** Inserts `--` before the first word of the command to run, whose options follow. */
export function addSeparator(argv: readonly string[], { words, flags }: CommandDeclaration): readonly string[] {
  const consumesNext = createFlagWordFilter([...globalFlags, ...flags]);
  let bare = 0;
  for (let i = 0; i < argv.length; i += 1) {
    const token = argv[i]!;
    if (token === "--") return argv;
    if (consumesNext(token, argv[i + 1])) i += 1;
    else if (!token.startsWith("-") || token === "-") bare += 1;
    if (bare > words.length) return [...argv.slice(0, i), "--", ...argv.slice(i)];
  }
  return argv;
}

function createFlagWordFilter(flags: readonly FlagSpec[]): (token: string, next: string | undefined) => boolean {
  const valued = flags.filter((spec) => formatFlagValue(spec).length > 0);
  return (token, next) => {
    const spec = valued.find(({ flag, short }) => token === `--${flag}` || (short && token === `-${short}`));
    return spec !== undefined && !(spec.optionalValue && (next ?? "-").startsWith("-"));
  };
}
type CommandTarget = Pick<GlobalOptions, "baseUrl" | "profile" | "emulator">;

/** Formats the global flags that select a target, without secrets, for the next command line. */
export const formatTargetFlags = ({ baseUrl, profile, emulator }: CommandTarget): string[] => [
  ...(baseUrl === undefined ? [] : ["--base-url", baseUrl]),
  ...(profile === undefined ? [] : ["--profile", profile]),
  ...(emulator ? ["--emulator"] : []),
];

/** Commands that send no request to a service. */
const commandsWithoutTarget = [
  ["emulator", "start"],
  ["emulator", "exec"],
  ["emulator", "repair"],
];

/** Creates a command line that continues with the same target. */
export function buildNextArgv(next: readonly string[], place: CommandTarget): readonly string[] {
  if (commandsWithoutTarget.some((words) => startsWithWords(next, words))) return next;
  const flags = formatTargetFlags(place);
  return next.includes(flags[0] ?? "") ? next : [...next, ...flags];
}

export const formatNextCommand = (next: readonly string[], { globals }: { readonly globals: CommandTarget }): string =>
  formatCommandLine(buildNextArgv(next, globals));
