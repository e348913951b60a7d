import { join } from "node:path";
import { isObject } from "../../../base/object.ts";
import { formatSuggestion } from "../../../base/text.ts";
import { getConfigFolder, hasConfigFolder } from "../../process/environment.ts";
import { UsageError } from "../../process/failure.ts";
import type { Host } from "../../process/host.ts";
import { readPrivateFile } from "./private-file.ts";

export interface Profile {
  readonly router_url?: string;
  readonly contracts_url?: string;
  readonly client_id?: string;
  readonly client_secret?: string;
  /** Bearer token that takes precedence over every sign-in. */
  readonly token?: string;
  readonly oauth_client_id?: string;
  readonly emulator_url?: string;
  readonly emulator_token?: string;
  readonly cluster_keys?: Readonly<Record<string, string>>;
}

/** Content of `profiles.json` in the configuration folder. */
export interface ProfileFile {
  readonly current?: string;
  readonly profiles: Readonly<Record<string, Profile>>;
}

export const getProfilesPath = (env: Host["env"]): string => join(getConfigFolder(env), "profiles.json");

export async function readProfiles(env: Host["env"]): Promise<ProfileFile> {
  const content = hasConfigFolder(env)
    ? await readPrivateFile<Partial<ProfileFile>>(getProfilesPath(env), checkProfiles)
    : undefined;
  return { ...content, profiles: content?.profiles ?? {} };
}

export function requireProfile({ profiles }: ProfileFile, name: string): Profile {
  if (Object.hasOwn(profiles, name)) return profiles[name]!;
  const knownNames = Object.keys(profiles);
  throw new UsageError(`Profile "${name}" not found.`, {
    hint:
      knownNames.length > 0
        ? formatSuggestion(name, knownNames)
        : "To create a profile, run svc config set router_url URL --profile NAME.",
  });
}

export function checkProfiles({ current, profiles = {} }: Readonly<Record<string, unknown>>): string | undefined {
  if (current !== undefined && typeof current !== "string") return "current must be the name of a profile";
  if (!isObject(profiles)) return "profiles must be an object";
  for (const [name, profile] of Object.entries(profiles)) {
    if (!isObject(profile)) return `profile ${name} must be an object of settings`;
    const { cluster_keys: keys = {}, ...settings } = profile;
    if (!isObject(keys)) return `cluster_keys of profile ${name} must be an object`;
    const [invalidEntry] =
      [...Object.entries(settings), ...Object.entries(keys)].find(([, value]) => typeof value !== "string") ?? [];
    if (invalidEntry !== undefined) return `${invalidEntry} of profile ${name} must be a string`;
  }
  return undefined;
}
