import { formatSuggestion } from "../../../base/text.ts";
import type { Context } from "../../command.ts";
import { UsageError } from "../../process/failure.ts";
import { parseProxy } from "../proxies.ts";
import {
  readEnvironmentEmulator,
  readProfileEmulator,
  readProfileName,
  readVariable,
  resolveOAuthClientSetting,
  resolveProfileSetting,
  resolveServiceSettings,
  type SettingValue,
} from "../resolve-settings.ts";
import { changePrivateFile } from "./private-file.ts";
import { checkProfiles, getProfilesPath, type Profile, type ProfileFile, readProfiles } from "./profile.ts";
import { appSecrets } from "./secrets.ts";

export interface ProfileSetting {
  readonly key: string;
  readonly what: string;
  readonly isSecret?: boolean;
  readonly isAddress?: boolean;
}

export const profileSettings: readonly ProfileSetting[] = [
  { key: "router_url", what: "Address of the routing service", isAddress: true },
  { key: "contracts_url", what: "Address of the contract API", isAddress: true },
  { key: "client_id", what: "Client ID of the workspace's API key" },
  { key: "client_secret", what: "Secret of the workspace's API key", isSecret: true },
  { key: "token", what: "Bearer token, instead of a sign-in", isSecret: true },
  { key: "oauth_client_id", what: "OAuth client of svc auth device-login" },
  { key: "emulator_url", what: "Address of a shared emulator", isAddress: true },
  { key: "emulator_token", what: "Token of its control plane", isSecret: true },
];

const clusterKey = /^cluster_keys\.([A-Za-z0-9][\w-]*)$/;

/** Finds the setting of a key such as `router_url` or `cluster_keys.eu-1`. Throws UsageError for an unknown key. */
export function findProfileSetting(key: string): ProfileSetting {
  const known = profileSettings.find((one) => one.key === key);
  if (known) return known;
  if (clusterKey.test(key)) return { key, what: "Key of one cluster, for x-cluster-key", isSecret: true };
  throw new UsageError(`Setting "${key}" not found.`, {
    hint: formatSuggestion(key, [...profileSettings.map((one) => one.key), "cluster_keys.CLUSTER"]),
  });
}

/** Returns the changed profile. `undefined` removes the setting. */
export function setProfileSetting(profile: Profile, key: string, value: string | undefined): Profile {
  const cluster = clusterKey.exec(key)?.[1];
  const change = <T extends object>(object: T, name: string): T =>
    Object.fromEntries([
      ...Object.entries(object).filter(([known]) => known !== name),
      ...(value === undefined ? [] : [[name, value]]),
    ]) as T;
  return cluster === undefined
    ? change(profile, key)
    : { ...profile, cluster_keys: change(profile.cluster_keys ?? {}, cluster) };
}

/** Setting as displayed. A secret shows only its origin. */
type EffectiveSetting =
  | { readonly key: string; readonly origin: string; readonly isSecret: false; readonly value: string }
  | { readonly key: string; readonly origin: string; readonly isSecret: true };

/** Lists the settings in effect here, with the source of each value. */
export async function listEffectiveSettings(context: Pick<Context, "globals" | "host">): Promise<EffectiveSetting[]> {
  const { host } = context;
  const found = await resolveServiceSettings(context);
  const keys = Object.entries(found.clusterKeys);
  const shared = context.globals.profile === undefined ? readEnvironmentEmulator(host) : undefined;
  const emulator = shared ?? (await readProfileEmulator(context));
  return [
    ...toEffectiveSettings("profile", await resolveProfileSetting(context)),
    ...toEffectiveSettings("router_url", found.router),
    ...toEffectiveSettings("contracts_url", found.contracts),
    ...toEffectiveSettings("client_id", found.clientId),
    ...toHiddenSetting("client_secret", found.clientSecret),
    ...toEffectiveSettings("oauth_client_id", await resolveOAuthClientSetting(context)),
    ...keys.flatMap(([cluster, key]) => toHiddenSetting(`cluster_keys.${cluster}`, key)),
    ...toHiddenSetting("cluster_key", found.clusterKey),
    ...toHiddenSetting("token", found.token),
    ...toHiddenSetting("basic_auth", found.basicAuth),
    ...Object.values(appSecrets).flatMap(({ env }) => toHiddenSetting(toKey(env), readVariable(host, env))),
    ...toHiddenSetting("webhook_hmac_key", found.hmacKey),
    ...toEffectiveSettings("emulator_url", emulator?.url),
    ...toHiddenSetting("emulator_token", emulator?.token ?? found.controlToken),
    ...toEffectiveSettings("http_proxy", removeCredentials(readEitherCase(host, "http_proxy"))),
    ...toEffectiveSettings("https_proxy", removeCredentials(readEitherCase(host, "https_proxy"))),
    ...toEffectiveSettings("no_proxy", readEitherCase(host, "no_proxy")),
    ...toEffectiveSettings("config_dir", readVariable(host, "SVC_CONFIG_DIR")),
    ...toEffectiveSettings("state_dir", readVariable(host, "SVC_STATE_DIR")),
  ];
}

const toEffectiveSettings = (key: string, found: SettingValue | undefined): EffectiveSetting[] =>
  found ? [{ key, ...found, isSecret: false }] : [];

const toHiddenSetting = (key: string, found: SettingValue<unknown> | undefined): EffectiveSetting[] =>
  found ? [{ key, origin: found.origin, isSecret: true }] : [];

const toKey = (name: string): string => name.replace(/^SVC_/, "").toLowerCase();

const readEitherCase = (host: Context["host"], name: string): SettingValue | undefined =>
  readVariable(host, name) ?? readVariable(host, name.toUpperCase());

/** Proxy URLs often contain a password, and other settings can contain one. */
const removeCredentials = (found: SettingValue | undefined): SettingValue | undefined =>
  found && { ...found, value: parseProxy(found.value)?.origin ?? "[not a proxy]" };

const firstProfile = "default";

const changeFile = ({ host, signal }: Context, change: (file: ProfileFile) => ProfileFile): Promise<ProfileFile> =>
  changePrivateFile<ProfileFile>(getProfilesPath(host.env), checkProfiles, host, signal, (content) =>
    change({ ...content, profiles: content?.profiles ?? {} }),
  );

/** Changes the named or current profile. Creates it unless it must exist. The first profile becomes current. */
export async function changeProfile(
  context: Context,
  change: (profile: Profile) => Profile,
  { mustExist = false }: { readonly mustExist?: boolean } = {},
): Promise<{ readonly name: string; readonly isNewlyCurrent: boolean }> {
  const named = readProfileName(context)?.value;
  let name = named ?? firstProfile;
  let isNewlyCurrent = false;
  if (!/^[A-Za-z0-9][\w.-]{0,63}$/.test(name)) {
    throw new UsageError(`Profile names must be letters, digits, dots, dashes and underscores, got "${name}"`);
  }
  await changeFile(context, (file) => {
    name = named ?? file.current ?? firstProfile;
    if (mustExist) requireProfile(file, name);
    const before = Object.hasOwn(file.profiles, name) ? file.profiles[name]! : {};
    isNewlyCurrent = file.current === undefined;
    return { ...file, current: file.current ?? name, profiles: { ...file.profiles, [name]: change(before) } };
  });
  return { name, isNewlyCurrent };
}

export const useProfile = (context: Context, name: string): Promise<unknown> =>
  changeFile(context, (file) => {
    requireProfile(file, name);
    return { ...file, current: name };
  });

export const removeProfile = (context: Context, name: string): Promise<unknown> =>
  changeFile(context, ({ current, ...file }) => ({
    ...(current === undefined || current === name ? {} : { current }),
    profiles: Object.fromEntries(Object.entries(file.profiles).filter(([known]) => known !== name)),
  }));

export const requireKnownProfile = async ({ host }: Context, name: string): Promise<void> =>
  requireProfile(await readProfiles(host.env), name);

function requireProfile({ profiles }: ProfileFile, name: string): void {
  if (Object.hasOwn(profiles, name)) return;
  const known = Object.keys(profiles);
  throw new UsageError(`Profile "${name}" not found.`, {
    hint:
      known.length > 0
        ? formatSuggestion(name, known)
        : "To create a profile, run svc config set router_url URL --profile NAME.",
  });
}
