import type { CommandDeclaration } from "../../src/derive/command-spec.ts";
import { type SourceFile, withoutComments } from "./repository.ts";

/** `--name` in a string or a template, with what stands before it: names of CSS and of other programs are no options. */
const named = /(?<![\w`-]|var\()--([a-z][a-z0-9-]+)(?![\w-]*\s*:)/g;

/** Options that no command has, among those that strings of the project name. */
export function unknownOptions(
  files: readonly SourceFile[],
  commands: readonly CommandDeclaration[],
  others: readonly string[],
): string[] {
  const known = new Set([...others, ...commands.flatMap(({ flags }) => flags.map(({ flag }) => flag))]);
  return files.flatMap(({ path, text }) =>
    [...withoutComments(text).matchAll(named)].flatMap(([, flag = ""]) =>
      known.has(flag.replace(/^no-/, "")) || known.has(flag) ? [] : [`${path} names --${flag}`],
    ),
  );
}
