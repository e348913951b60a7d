import type { CommandExample } from "../derive/command-spec.ts";

/** The examples of a help page, each under its title. */
export const exampleLines = (examples: readonly CommandExample[]): string =>
  `Examples:\n${examples.map(({ title, argv }) => `  # ${title}\n  ${commandLine(argv)}`).join("\n")}`;

/** A command line as it is typed, quoted where a POSIX shell needs it. */
export const commandLine = (argv: readonly string[]): string => ["svc", ...argv].map(quoted).join(" ");

const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
