import type { CommandSpec } from "../derive/command-spec.ts";
import type { Command } from "./command.ts";
import { groupNames, groups } from "./groups.ts";
import type { Parser } from "./parse/parser.ts";
import { derivedAlone, specsOf } from "./specs.ts";

/** A command of the tree; `spec` is the derived one that a hand-written one builds on. */
export type Declared = (Command & { readonly spec?: CommandSpec | undefined }) | CommandSpec;

/** The tree as far as the words need it. Pages of help do without: the parser's library is loaded late. */
export async function parserFor(words: readonly string[]): Promise<Parser<Declared>> {
  const [{ Parser }, names] = await Promise.all([import("./parse/parser.ts"), groupNames()]);
  const group = names.find((name) => name === words[0]);
  if (group === undefined) return new Parser<Declared>(names, [], words);
  const derived = derivedAlone(await specsOf(group), words);
  return new Parser<Declared>(names, derived ? [derived] : await declarationsOf(group), words);
}

/** A hand-written command stands for the derived one of the same words. */
export async function declarationsOf(group: string): Promise<readonly Declared[]> {
  const [specs, written] = await Promise.all([specsOf(group), groups[group]?.commands?.()]);
  const byWords = new Map(specs.map((spec) => [spec.words.join(" "), spec]));
  const own = (written?.commands ?? []).map((command) => {
    const spec = byWords.get(command.words.join(" "));
    byWords.delete(command.words.join(" "));
    return spec && command.extendsDerived ? extended(command, spec) : { ...command, spec };
  });
  return [...own, ...byWords.values()];
}

function extended(command: Command, spec: CommandSpec): Declared {
  const flags = new Set(command.flags.map(({ flag }) => flag));
  return {
    ...command,
    spec,
    ...(command.description === undefined && spec.description !== undefined ? { description: spec.description } : {}),
    positionals: [...command.positionals, ...spec.positionals],
    flags: [...command.flags, ...spec.flags.filter(({ flag }) => !flags.has(flag))],
    examples: [...command.examples, ...spec.examples],
  };
}
