import { join } from "node:path";
import { isObject } from "../../../base/object.ts";
import { formatSuggestion } from "../../../base/text.ts";
import { getConfigFolder, hasConfigFolder } from "../../process/environment.ts";
import { UsageError } from "../../process/failure.ts";
import type { Host } from "../../process/host.ts";
import { readPrivateFile } from "./private-file.ts";

export interface ProfileSetting {
  readonly key: string;
  readonly label: string;
  readonly isSecret?: boolean;
  readonly isAddress?: boolean;
}

export const profileSettings = [
  { key: "router_url", label: "Address of the routing service", isAddress: true },
  { key: "contracts_url", label: "Address of the contract API", isAddress: true },
  { key: "client_id", label: "Client ID of the workspace's API key" },
  { key: "client_secret", label: "Secret of the workspace's API key", isSecret: true },
  { key: "token", label: "Bearer token, instead of a sign-in", isSecret: true },
  { key: "oauth_client_id", label: "OAuth client of svc auth device-login" },
  { key: "emulator_url", label: "Address of a shared emulator", isAddress: true },
  { key: "emulator_token", label: "Token of its control plane", isSecret: true },
] as const satisfies readonly ProfileSetting[];

export type Profile = { readonly [Key in (typeof profileSettings)[number]["key"]]?: string } & {
  readonly cluster_keys?: Readonly<Record<string, string>>;
};

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
