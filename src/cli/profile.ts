import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { CommandFailed, UsageError } from "./failure.ts";
import type { Host } from "./host.ts";
import { meant } from "./suggest.ts";

/** Addresses and credentials under a name. */
export interface Profile {
  readonly router_url?: string;
  readonly contracts_url?: string;
  readonly client_id?: string;
  readonly client_secret?: string;
  /** By cluster id. */
  readonly cluster_keys?: Readonly<Record<string, string>>;
}

/** `profiles.json` in the folder of the configuration. */
export interface ProfileFile {
  readonly current?: string;
  readonly profiles: Readonly<Record<string, Profile>>;
}

/** Where profiles are kept (cli-conventions.md, 37). Relative XDG values do not count. */
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
  const path = profilesPath(env);
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw new CommandFailed("usage", "profiles_unreadable", `Couldn't read ${path}: ${error.code}`, { cause: error });
  });
  if (text === undefined) return { profiles: {} };
  try {
    const content = JSON.parse(text) as ProfileFile;
    return { ...content, profiles: content.profiles ?? {} };
  } catch (cause) {
    throw new CommandFailed("usage", "profiles_damaged", `${path} is not JSON; mend or remove it.`, { cause });
  }
}

/** The profile that the flag, the environment or the file names; undefined when none is named. */
export async function chosenProfile(
  flag: string | undefined,
  env: Host["env"],
): Promise<{ name: string; profile: Profile } | undefined> {
  const named = flag ?? (env.SVC_PROFILE || undefined);
  const file = await readProfiles(env);
  const name = named ?? file.current;
  if (name === undefined) return undefined;
  const profile = file.profiles[name];
  if (profile) return { name, profile };
  const known = Object.keys(file.profiles);
  throw new UsageError(`There is no profile "${name}".`, {
    hint: known.length > 0 ? meant(name, known) : `Profiles stand in ${profilesPath(env)}.`,
  });
}
