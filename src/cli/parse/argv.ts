import type { CommandDeclaration, FlagSpec } from "../../derive/command-spec.ts";
import { formatCommandLine } from "../process/shell-words.ts";
import { formatFlagValue } from "./declaration.ts";
import { type GlobalOptions, globalFlags } from "./globals.ts";

/** Splits `--json=a,b` into two flags, because a flag with an optional value would consume the next positional. */
export function normalizeArgv(argv: readonly string[]): string[] {
  const end = argv.indexOf("--");
  const ownTokens = end < 0 ? argv : argv.slice(0, end);
  return [
    ...ownTokens.flatMap((token) => (token.startsWith("--json=") ? ["--json", "--fields", token.slice(7)] : [token])),
    ...(end < 0 ? [] : argv.slice(end)),
  ];
}

/** Locates the command's words, then its positionals, before its group is known. */
export function locateCommand(argv: readonly string[]) {
  const ownWords = [...skipFlagValues(argv, [])].map(([, word]) => word);
  return { words: ownWords.filter(isBareWord), wantsHelp: ownWords.includes("-h") || ownWords.includes("--help") };
}

export const findFlag = (word: string, flags: readonly FlagSpec[]): FlagSpec | undefined =>
  [...flags, ...globalFlags].find(
    ({ flag, short, type }) =>
      word === `--${flag}` || (short && word === `-${short}`) || (type === "boolean" && word === `--no-${flag}`),
  );

export const isBareWord = (word: string): boolean => !word.startsWith("-") || word === "-";

/** Yields the words up to `--` with their positions, without the values of flags. */
export function* skipFlagValues(
  argv: readonly string[],
  flags: readonly FlagSpec[],
): Generator<readonly [index: number, word: string]> {
  for (let i = 0; i < argv.length && argv[i] !== "--"; i += 1) {
    const word = argv[i]!;
    yield [i, word];
    const spec = isBareWord(word) ? undefined : findFlag(word, flags);
    const takesNext = spec && formatFlagValue(spec).length > 0;
    if (takesNext && !(spec.optionalValue && (argv[i + 1] ?? "-").startsWith("-"))) i += 1;
  }
}

/** Reads the value of a flag from a command line that is not or cannot be parsed. The last one counts. */
export function getFlagValue(argv: readonly string[], flag: string): string | undefined {
  const index = argv.findLastIndex((token) => token === flag || token.startsWith(`${flag}=`));
  if (index < 0) return undefined;
  return argv[index] === flag ? argv[index + 1] : argv[index]!.slice(flag.length + 1);
}

/** Removes a flag and its value from a command line. */
export const removeFlag = (argv: readonly string[], flag: string): readonly string[] =>
  argv.filter((word, i) => word !== flag && !word.startsWith(`${flag}=`) && argv[i - 1] !== flag);

export const parseTargetFlags = (argv: readonly string[]): CommandTarget => ({
  baseUrl: getFlagValue(argv, "--base-url"),
  profile: getFlagValue(argv, "--profile"),
  emulator: argv.includes("--emulator"),
});

export const startsWithWords = (words: readonly string[], start: readonly string[]): boolean =>
  start.every((word, i) => word === words[i]);

export const areWordsEqual = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && startsWithWords(a, b);

/** Reports whether a command runs another one and leaves its words unchanged. */
export const runsInnerCommand = (declaration: CommandDeclaration): boolean =>
  (declaration as { passthrough?: boolean }).passthrough === true;

/** Inserts `--` before the first word of the command to run, so that the options after it belong to that command. */
export function addSeparator(argv: readonly string[], { words, flags }: CommandDeclaration): readonly string[] {
  const bare = [...skipFlagValues(argv, flags)].filter(([, word]) => isBareWord(word));
  const [start] = bare[words.length] ?? [];
  return start === undefined ? argv : [...argv.slice(0, start), "--", ...argv.slice(start)];
}

type CommandTarget = Pick<GlobalOptions, "baseUrl" | "profile" | "emulator">;

/** Formats the global flags that select a target, without secrets, for the next command line. */
export const formatTargetFlags = ({ baseUrl, profile, emulator }: CommandTarget): string[] => [
  ...(baseUrl === undefined ? [] : ["--base-url", baseUrl]),
  ...(profile === undefined ? [] : ["--profile", profile]),
  ...(emulator ? ["--emulator"] : []),
];

const commandsWithoutTarget = [
  ["emulator", "start"],
  ["emulator", "exec"],
  ["emulator", "repair"],
];

export function buildNextArgv(next: readonly string[], target: CommandTarget): readonly string[] {
  if (commandsWithoutTarget.some((words) => startsWithWords(next, words))) return next;
  const flags = formatTargetFlags(target);
  return next.some((word) => word.split("=", 1)[0] === flags[0]) ? next : [...next, ...flags];
}

export const formatNextCommand = (next: readonly string[], { globals }: { readonly globals: CommandTarget }): string =>
  formatCommandLine(buildNextArgv(next, globals));
