import type { CommandDeclaration } from "../../src/derive/command-spec.ts";
import { omitComments, type SourceFile } from "./repository.ts";

/** Matches `--name` in a string or a template, with the preceding character, because CSS names are not options. */
const optionName = /(?<![\w`-]|var\()--([a-z][a-z0-9-]+)(?![\w-]*\s*:)/g;

/** Lists options in strings of the project that no command has. */
export function findUnknownOptions(
  files: readonly SourceFile[],
  commands: readonly CommandDeclaration[],
  others: readonly string[],
): string[] {
  const known = new Set([...others, ...commands.flatMap(({ flags }) => flags.map(({ flag }) => flag))]);
  return files.flatMap(({ path, text }) =>
    [...omitComments(text).matchAll(optionName)].flatMap(([, flag = ""]) =>
      known.has(flag.replace(/^no-/, "")) || known.has(flag) ? [] : [`${path} names --${flag}`],
    ),
  );
}
