import type { CommandDeclaration } from "../../src/derive/command-spec.ts";
import { omitComments, type SourceFile } from "./repository.ts";

/** Matches `--name` in a string or a template, with the preceding character, because CSS names are not options. */
const optionName = /(?<![\w`-]|var\()--([a-z][a-z0-9-]+)(?![\w-]*\s*:)/g;

/** Lists options in strings of the project that no command has. */
export function findUnknownOptions(
  files: readonly SourceFile[],
  commands: readonly CommandDeclaration[],
  otherFlags: readonly string[],
): string[] {
  const knownFlags = new Set([...otherFlags, ...commands.flatMap(({ flags }) => flags.map(({ flag }) => flag))]);
  return files.flatMap(({ path, text }) =>
    [...omitComments(text).matchAll(optionName)].flatMap(([, flag = ""]) =>
      knownFlags.has(flag.replace(/^no-/, "")) || knownFlags.has(flag) ? [] : [`${path} names --${flag}`],
    ),
  );
}
