import { join } from "node:path";
import type { Host } from "../host.ts";
import { configFolder, hasConfigFolder } from "./folders.ts";
import { readPrivateFile } from "./private-file.ts";

/** Addresses and credentials under a name. */
export interface Profile {
  readonly router_url?: string;
  readonly contracts_url?: string;
  readonly client_id?: string;
  readonly client_secret?: string;
  /** A bearer token that outranks every sign-in. */
  readonly token?: string;
  /** The OAuth client of `svc auth device-login`. */
  readonly oauth_client_id?: string;
  /** The control plane of an emulator that others share. */
  readonly emulator_url?: string;
  readonly emulator_token?: string;
  /** By cluster id. */
  readonly cluster_keys?: Readonly<Record<string, string>>;
}

/** `profiles.json` in the folder of the configuration. */
export interface ProfileFile {
  readonly current?: string;
  readonly profiles: Readonly<Record<string, Profile>>;
}

export const profilesPath = (env: Host["env"]): string => join(configFolder(env), "profiles.json");

/** The file's content; empty when there is none. */
export async function readProfiles(env: Host["env"]): Promise<ProfileFile> {
  const content = hasConfigFolder(env) ? await readPrivateFile<Partial<ProfileFile>>(profilesPath(env)) : undefined;
  return { ...content, profiles: content?.profiles ?? {} };
}
