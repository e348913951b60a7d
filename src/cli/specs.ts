import { readFileSync } from "node:fs";
import type { CommandSpec } from "../derive/command-spec.ts";

/** Set by the build: the specs then stand as JSON beside the bundle, and the registry is not loaded to parse or help. */
declare const SVC_BUILT: boolean | undefined;
const isBuilt = typeof SVC_BUILT !== "undefined";

/** The derived commands by group. */
export type SpecsByGroup = Readonly<Record<string, readonly CommandSpec[]>>;

const built = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`./specs/${name}.json`, import.meta.url), "utf8"));

/** Names of the groups that have derived commands. */
export async function specGroups(): Promise<readonly string[]> {
  return isBuilt ? (built("groups") as string[]) : Object.keys(await derived());
}

/** The derived commands of one group. */
export async function specsOf(group: string): Promise<readonly CommandSpec[]> {
  if (!isBuilt) return (await derived())[group] ?? [];
  return (await specGroups()).includes(group) ? (built(group) as CommandSpec[]) : [];
}

let memo: Promise<SpecsByGroup> | undefined;
const derived = (): Promise<SpecsByGroup> => {
  memo ??= import("../derive/specs.ts").then(({ deriveSpecs }) => deriveSpecs());
  return memo;
};
