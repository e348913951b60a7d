import { readFileSync } from "node:fs";
import type { CommandSpec } from "../derive/command-spec.ts";

/** Set by the build: the specs of these groups stand as JSON beside the bundle, and no registry is loaded to parse or help. */
declare const SVC_SPEC_GROUPS: string | undefined;
const builtGroups = typeof SVC_SPEC_GROUPS === "undefined" ? undefined : SVC_SPEC_GROUPS.split(" ");

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
