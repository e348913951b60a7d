import { readFileSync } from "node:fs";
import type { CommandSpec } from "../derive/command-spec.ts";
import { begins } from "./parse/argv.ts";

/** Set by the build: the specs of these groups stand as JSON beside the bundle, and no registry is loaded to parse or help. */
declare const SVC_SPEC_GROUPS: string | undefined;

/** Set by the build, too: a line for each hand-written command, of its words. Development knows them when it loads them. */
declare const SVC_WRITTEN_COMMANDS: string | undefined;
const builtGroups = typeof SVC_SPEC_GROUPS === "undefined" ? undefined : SVC_SPEC_GROUPS.split(" ");

/**
 * The derived command that the words name, where nothing written by hand may be meant: then no hand-written command
 * need be loaded to parse them, nor what those load.
 */
export function derivedAlone(specs: readonly CommandSpec[], words: readonly string[]): CommandSpec | undefined {
  if (typeof SVC_WRITTEN_COMMANDS === "undefined") return undefined;
  const written = SVC_WRITTEN_COMMANDS.split("\n").map((line) => line.split(" "));
  return specs.find(
    (spec) =>
      begins(words, spec.words) &&
      specs.every((other) => other === spec || !begins(other.words, spec.words)) &&
      written.every((other) => !begins(other, spec.words) && !begins(spec.words, other)),
  );
}

/** The derived commands by group. */
export type SpecsByGroup = Readonly<Record<string, readonly CommandSpec[]>>;

/** Names of the groups that have derived commands. */
export async function specGroups(): Promise<readonly string[]> {
  return builtGroups ?? Object.keys(await derived());
}

/** The derived commands of one group. */
export async function specsOf(group: string): Promise<readonly CommandSpec[]> {
  if (builtGroups === undefined) return (await derived())[group] ?? [];
  return builtGroups.includes(group)
    ? JSON.parse(readFileSync(new URL(`./specs/${group}.json`, import.meta.url), "utf8"))
    : [];
}

let memo: Promise<SpecsByGroup> | undefined;
const derived = (): Promise<SpecsByGroup> => {
  memo ??= import("../derive/specs.ts").then(({ deriveSpecs }) => deriveSpecs());
  return memo;
};
