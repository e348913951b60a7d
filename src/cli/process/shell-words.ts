import type { CommandExample } from "../../derive/command-spec.ts";
import { CommandFailedError } from "./failure.ts";

/** Creates an example from its command line, without `svc`. */
export const createExample = (title: string, line: string, stdin?: string): CommandExample => ({
  title,
  argv: splitWords(line)!,
  ...(stdin === undefined ? {} : { stdin }),
});

/** Formats the examples of a help page. Long ones continue on the next line with shell syntax. */
export const formatExamples = (examples: readonly CommandExample[], width = Number.POSITIVE_INFINITY): string =>
  ["Examples:", ...examples.flatMap((example) => [`  # ${example.title}`, ...breakExample(example, width)])].join("\n");

export const formatExample = ({ argv, stdin }: CommandExample): string => formatPipe(stdin) + formatCommandLine(argv);

export const formatCommandLine = (argv: readonly string[]): string => ["svc", ...argv.map(quoteShellWord)].join(" ");

const formatPipe = (stdin: string | undefined): string =>
  stdin === undefined ? "" : `echo ${quoteShellWord(stdin)} | `;

function breakExample(example: CommandExample, width: number): string[] {
  const { argv, stdin } = example;
  const line = `  ${formatExample(example)}`;
  if (line.length <= width) return [line];
  const lines = [`${stdin === undefined ? "  " : "    "}svc`];
  for (const unit of groupWords(argv)) {
    const last = lines.at(-1)!;
    if (last.length + unit.length + 3 <= width || last.trimStart() === "svc")
      lines[lines.length - 1] = `${last} ${unit}`;
    else lines.push(`    ${unit}`);
  }
  const continuedLines = lines.map((line, i) => (i < lines.length - 1 ? `${line} \\` : line));
  return stdin === undefined ? continuedLines : [`  ${formatPipe(stdin).trimEnd()}`, ...continuedLines];
}

function groupWords(argv: readonly string[]): string[] {
  const variables: string[] = [];
  for (const [i, word] of argv.entries()) {
    const isValue = i > 0 && /^--?[a-z]/.test(argv[i - 1]!) && !word.startsWith("-");
    if (isValue) variables.push(`${variables.pop()} ${quoteShellWord(word)}`);
    else variables.push(quoteShellWord(word));
  }
  return variables;
}

export const quoteShellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/**
 * Splits a command line with POSIX shell quoting into words. Returns undefined if a quote is not closed. A reference of
 * a scenario (`${name}`) is never split.
 */
export function splitWords(line: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let i = 0; i < line.length; i += 1) {
    const char = line[i]!;
    const reference = char === "$" ? /^\$\{[^{}]*\}/.exec(line.slice(i))?.[0] : undefined;
    if (reference !== undefined) {
      word = (word ?? "") + reference;
      i += reference.length - 1;
    } else if (quote !== "") {
      if (char === quote) quote = "";
      else if (char === "\\" && quote === '"' && /["\\]/.test(line[i + 1] ?? "")) word += line[++i]!;
      else word += char;
    } else if (char === "'" || char === '"') {
      quote = char;
      word ??= "";
    } else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + (char === "\\" ? (line[++i] ?? "") : char);
  }
  if (quote !== "") return undefined;
  if (word !== undefined) words.push(word);
  return words;
}

type ShellVariables = Readonly<Record<string, string | undefined>>;

export const variableFormats = ["bash", "zsh", "fish", "powershell", "dotenv", "github"] as const;
export type VariableFormat = (typeof variableFormats)[number];

interface VariableWriter {
  readonly set: (name: string, value: string) => string;
  readonly unset: (name: string) => string;
}

/** Within single quotes, a POSIX shell interprets nothing but the closing quote. */
const posix: VariableWriter = {
  set: (name, value) => `export ${name}='${value.replaceAll("'", "'\\''")}'`,
  unset: (name) => `unset ${name}`,
};

const variableWriters: Readonly<Record<VariableFormat, VariableWriter>> = {
  bash: posix,
  zsh: posix,
  // The only escapes in quotes are \' and \\ (https://fishshell.com/docs/current/language.html#quotes).
  fish: {
    set: (name, value) => `set -gx ${name} '${value.replace(/[\\']/g, "\\$&")}'`,
    unset: (name) => `set -e ${name}`,
  },
  // A quote is doubled, including typographic quotes (about_Quoting_Rules).
  powershell: {
    set: (name, value) => `$env:${name} = '${value.replace(/['\u2018\u2019\u201a\u201b]/g, "$&$&")}'`,
    unset: (name) => `Remove-Item Env:${name} -ErrorAction SilentlyContinue`,
  },
  // All readers of dotenv files accept bare words, and single quotes around values without a single quote. An empty
  // value is not set.
  dotenv: { set: (name, value) => `${name}=${formatDotenvValue(name, value)}`, unset: (name) => `${name}=` },
  // Lines for $GITHUB_ENV. The file has no quoting, and a step cannot unset earlier variables.
  github: { set: formatGitHubLines, unset: (name) => `${name}=` },
};

/** Each variable ends with a line break. An undefined value unsets its variable. */
export function formatVariables(variables: ShellVariables, format: VariableFormat): string {
  const { set: writeAssignment, unset } = variableWriters[format];
  return Object.entries(variables)
    .map(([name, value]) => `${value === undefined ? unset(name) : writeAssignment(name, value)}\n`)
    .join("");
}

function formatDotenvValue(name: string, value: string): string {
  if (/^[\w.:/@%+=,-]*$/.test(value)) return value;
  if (!/['\r\n]/.test(value)) return `'${value}'`;
  throw new CommandFailedError("failed", "not_writable", `The value of ${name} cannot be written into a .env file.`, {
    hint: "It contains a quote or a line break, which programs read differently. Choose another --shell.",
  });
}

/** A delimiter that the value does not contain encloses several lines (https://docs.github.com/actions). */
function formatGitHubLines(name: string, value: string): string {
  if (!/[\r\n]/.test(value)) return `${name}=${value}`;
  let end = "end";
  while (value.includes(end)) end += "_";
  return `${name}<<${end}\n${value}\n${end}`;
}
