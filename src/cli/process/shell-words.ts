import { quoteShellWord } from "../../base/text.ts";
import type { CommandExample } from "../../derive/command-spec.ts";

/** Example, or its title with the command line, without `svc`, and its standard input. */
export type ExampleNotation = CommandExample | readonly [title: string, line: string, stdin?: string];

export function toExample(example: ExampleNotation): CommandExample {
  if ("title" in example) return example;
  const [title, line, stdin] = example;
  return { title, argv: splitWords(line)!, ...(stdin === undefined ? {} : { stdin }) };
}

export const formatExample = ({ argv, stdin }: CommandExample): string =>
  `${stdin === undefined ? "" : `echo ${quoteShellWord(stdin)} | `}${formatCommandLine(argv)}`;

export const formatCommandLine = (argv: readonly string[]): string => ["svc", ...argv.map(quoteShellWord)].join(" ");

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
