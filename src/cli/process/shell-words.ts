import type { CommandExample } from "../../derive/command-spec.ts";

/** The examples of a help page, each under its title; long ones continue in the next line, as shells allow. */
export const formatExamples = (examples: readonly CommandExample[], width = Number.POSITIVE_INFINITY): string =>
  ["Examples:", ...examples.flatMap((example) => [`  # ${example.title}`, ...breakExample(example, width)])].join("\n");

/** An example in one line. */
export const formatExample = ({ argv, stdin }: CommandExample): string => formatPipe(stdin) + formatCommandLine(argv);

/** A command line as it is typed, quoted where a POSIX shell needs it. */
export const formatCommandLine = (argv: readonly string[]): string => ["svc", ...argv.map(quoteShellWord)].join(" ");

const formatPipe = (stdin: string | undefined): string =>
  stdin === undefined ? "" : `echo ${quoteShellWord(stdin)} | `;

function breakExample(example: CommandExample, width: number): string[] {
  const { argv, stdin } = example;
  const whole = `  ${formatExample(example)}`;
  if (whole.length <= width) return [whole];
  const lines = [`${stdin === undefined ? "  " : "    "}svc`];
  for (const unit of groupWords(argv)) {
    const last = lines.at(-1)!;
    if (last.length + unit.length + 3 <= width || last.trimStart() === "svc")
      lines[lines.length - 1] = `${last} ${unit}`;
    else lines.push(`    ${unit}`);
  }
  const continued = lines.map((line, i) => (i < lines.length - 1 ? `${line} \\` : line));
  return stdin === undefined ? continued : [`  ${formatPipe(stdin).trimEnd()}`, ...continued];
}

/** Words that stay together: a flag with its value. */
function groupWords(argv: readonly string[]): string[] {
  const found: string[] = [];
  for (const [i, word] of argv.entries()) {
    const isValue = i > 0 && /^--?[a-z]/.test(argv[i - 1]!) && !word.startsWith("-");
    if (isValue) found.push(`${found.pop()} ${quoteShellWord(word)}`);
    else found.push(quoteShellWord(word));
  }
  return found;
}

/** A word quoted for a POSIX shell, whatever it holds. */
export const quoteShellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
