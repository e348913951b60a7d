import { homedir } from "node:os";
import { join } from "node:path";
import { UsageError } from "../failure.ts";
import type { Host } from "../host.ts";
import { didYouMean } from "../parse/suggest.ts";
import { readPrivate } from "./private-file.ts";

/** Addresses and credentials under a name. */
export interface Profile {
  readonly router_url?: string;
  readonly contracts_url?: string;
  readonly client_id?: string;
  readonly client_secret?: string;
  /** The OAuth client of `svc auth device-login`. */
  readonly oauth_client_id?: string;
  /** By cluster id. */
  readonly cluster_keys?: Readonly<Record<string, string>>;
}

/** `profiles.json` in the folder of the configuration. */
export interface ProfileFile {
  readonly current?: string;
  readonly profiles: Readonly<Record<string, Profile>>;
}

/** Where profiles are kept (DECISIONS.md, L11). Relative XDG values do not count. */
export function configFolder(env: Host["env"]): string {
  if (env.SVC_CONFIG_DIR) return env.SVC_CONFIG_DIR;
  const xdg = env.XDG_CONFIG_HOME;
  if (xdg?.startsWith("/")) return join(xdg, "svc");
  return process.platform === "win32" && env.APPDATA
    ? join(env.APPDATA, "svc")
    : join(env.HOME || homedir(), ".config", "svc");
}

export const profilesPath = (env: Host["env"]): string => join(configFolder(env), "profiles.json");

/** The file's content; empty when there is none. */
export async function readProfiles(env: Host["env"]): Promise<ProfileFile> {
  const content = await readPrivate<Partial<ProfileFile>>(profilesPath(env));
  return { ...content, profiles: content?.profiles ?? {} };
}

export interface ChosenProfile {
  readonly name: string;
  /** The flag, the variable or the file that names it. */
  readonly namedBy: string;
  readonly profile: Profile;
}

/** What the command line or the environment calls the profile, whether there is one or not. */
export function namedProfile(
  flag: string | undefined,
  env: Host["env"],
): Pick<ChosenProfile, "name" | "namedBy"> | undefined {
  if (flag !== undefined) return { name: flag, namedBy: "--profile" };
  return env.SVC_PROFILE ? { name: env.SVC_PROFILE, namedBy: "SVC_PROFILE" } : undefined;
}

/** The profile that the flag, the environment or the file names; undefined when none is named. */
export async function chosenProfile(flag: string | undefined, env: Host["env"]): Promise<ChosenProfile | undefined> {
  const named = namedProfile(flag, env);
  const file = await readProfiles(env);
  const name = named?.name ?? file.current;
  if (name === undefined) return undefined;
  const profile = Object.hasOwn(file.profiles, name) ? file.profiles[name] : undefined;
  if (profile) return { name, profile, namedBy: named?.namedBy ?? profilesPath(env) };
  const known = Object.keys(file.profiles);
  throw new UsageError(`There is no profile "${name}".`, {
    hint: known.length > 0 ? didYouMean(name, known) : `Profiles stand in ${profilesPath(env)}.`,
  });
}
