import type { CommandDeclaration, FlagSpec } from "../../derive/command-spec.ts";
import { formatCommandLine } from "../process/shell-words.ts";
import { formatFlagValue } from "./declaration.ts";
import { type GlobalOptions, globalFlags } from "./globals.ts";

/** Splits the line into the words of svc and those after `--`. */
export function splitAtSeparator(argv: readonly string[]): readonly [own: readonly string[], rest: readonly string[]] {
  const end = argv.indexOf("--");
  return end < 0 ? [argv, []] : [argv.slice(0, end), argv.slice(end + 1)];
}

/** Splits `--json=a,b` into two flags, because a flag with an optional value would consume the next positional. */
export function normalizeArgv(argv: readonly string[]): string[] {
  const [own] = splitAtSeparator(argv);
  return [
    ...own.flatMap((token) => (token.startsWith("--json=") ? ["--json", "--fields", token.slice(7)] : [token])),
    ...argv.slice(own.length),
  ];
}

/** Locates the command's words, then its positionals, before its group is known. */
export function locateCommand(argv: readonly string[]) {
  const ownWords = [...readTokens(argv, [])].map(({ word }) => word);
  return { words: ownWords.filter(isBareWord), wantsHelp: ownWords.includes("-h") || ownWords.includes("--help") };
}

/** A word of the command line: a flag with its value, an unknown option (without `spec`), or a bare word. */
export interface Token {
  readonly index: number;
  readonly word: string;
  readonly spec?: FlagSpec;
  /** Text of a value, or whether a switch is on. Undefined if the value is missing. */
  readonly value?: string | boolean | undefined;
}

/** Yields the words up to `--`. A flag and its value are one token, and a group of short flags is several. */
export function* readTokens(argv: readonly string[], flags: readonly FlagSpec[]): Generator<Token> {
  const [own] = splitAtSeparator(argv);
  for (let index = 0; index < own.length; index += 1) {
    const word = own[index]!;
    const options = isBareWord(word) ? [{ word }] : splitOption(word, flags);
    for (const { word, spec, text } of options as readonly GivenOption[]) {
      if (!spec) yield { index, word };
      else if (!takesValue(spec))
        yield { index, word, spec, value: word !== `--no-${spec.flag}` || spec.type === "switch" };
      else if (text !== undefined) yield { index, word, spec, value: text };
      else if (spec.optionalValue && !isBareWord(own[index + 1] ?? "--")) yield { index, word, spec, value: true };
      else {
        // A flag in the position of a value means that the value was forgotten.
        const value = findFlag(own[index + 1] ?? "", flags) ? undefined : own[index + 1];
        yield { index, word, spec, value };
        if (value !== undefined) index += 1;
      }
    }
  }
}

interface GivenOption {
  readonly word: string;
  readonly spec?: FlagSpec;
  /** Value in the same word: `--by=1h`, `-oFILE`. */
  readonly text?: string;
}

function splitOption(word: string, flags: readonly FlagSpec[]): GivenOption[] {
  const spec = findFlag(word, flags);
  if (spec) return [{ word, spec }];
  const isLong = word.startsWith("--");
  const end = isLong ? word.indexOf("=") : 2;
  const name = word.slice(0, Math.max(0, end));
  const first = findFlag(name, flags);
  if (first && takesValue(first)) return [{ word: name, spec: first, text: word.slice(isLong ? end + 1 : end) }];
  return first && !isLong ? [{ word: name, spec: first }, ...splitOption(`-${word.slice(end)}`, flags)] : [{ word }];
}

const takesValue = (spec: FlagSpec): boolean => formatFlagValue(spec).length > 0;

export const findFlag = (word: string, flags: readonly FlagSpec[]): FlagSpec | undefined =>
  [...flags, ...globalFlags].find(
    ({ flag, short, type }) =>
      word === `--${flag}` || (short && word === `-${short}`) || (type === "boolean" && word === `--no-${flag}`),
  );

/** A negative number is no option. */
export const isBareWord = (word: string): boolean =>
  !word.startsWith("-") || word === "-" || /^-(?:\d+|\d*\.\d+)(?:e[+-]?\d+)?$/.test(word);

/**
 * Reads the value of a flag from a command line that is not or cannot be parsed. As in the parser, the last one counts.
 */
export function getFlagValue(argv: readonly string[], flag: string): string | undefined {
  const index = argv.findLastIndex((token) => token === flag || token.startsWith(`${flag}=`));
  if (index < 0) return undefined;
  return argv[index] === flag ? argv[index + 1] : argv[index]!.slice(flag.length + 1);
}

export const parseTargetFlags = (argv: readonly string[]): CommandTarget => ({
  baseUrl: getFlagValue(argv, "--base-url"),
  profile: getFlagValue(argv, "--profile"),
  emulator: argv.includes("--emulator"),
});

export const startsWithWords = (words: readonly string[], start: readonly string[]): boolean =>
  start.every((word, i) => word === words[i]);

/** Reports whether a command runs another one and leaves its words unchanged. */
export const runsInnerCommand = (declaration: CommandDeclaration): boolean =>
  (declaration as { passthrough?: boolean }).passthrough === true;

/** Inserts `--` before the first word of the command to run, so that the options after it belong to that command. */
export function addSeparator(argv: readonly string[], { words, flags }: CommandDeclaration): readonly string[] {
  const bare = [...readTokens(argv, flags)].filter(({ word }) => isBareWord(word));
  const start = bare[words.length]?.index;
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
  return next.includes(flags[0] ?? "") ? next : [...next, ...flags];
}

export const formatNextCommand = (next: readonly string[], { globals }: { readonly globals: CommandTarget }): string =>
  formatCommandLine(buildNextArgv(next, globals));
