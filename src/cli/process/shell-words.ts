import type { CommandExample } from "../../derive/command-spec.ts";

/** Creates an example from its command line, without `svc`. */
export const createExample = (title: string, line: string, stdin?: string): CommandExample => ({
  title,
  argv: splitWords(line)!,
  ...(stdin === undefined ? {} : { stdin }),
});

/** Example, or its title with the command line, without `svc`, and its standard input. */
export type ExampleNotation = CommandExample | Parameters<typeof createExample>;

export const toExample = (example: ExampleNotation): CommandExample =>
  "title" in example ? example : createExample(...example);

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
