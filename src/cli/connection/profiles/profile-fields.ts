import { omitUndefined } from "../../../base/object.ts";
import { formatSuggestion } from "../../../base/text.ts";
import type { Context } from "../../command.ts";
import { appSecretList } from "../../process/app-secrets.ts";
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
import {
  checkProfiles,
  getProfilesPath,
  type Profile,
  type ProfileFile,
  type ProfileSetting,
  profileSettings,
  requireProfile,
} from "./profile.ts";

const clusterKey = /^cluster_keys\.([A-Za-z0-9][\w.-]*)$/;

/** Finds the setting of a key such as `router_url` or `cluster_keys.eu-1`. Throws UsageError for an unknown key. */
export function findProfileSetting(key: string): ProfileSetting {
  const setting = profileSettings.find((setting) => setting.key === key);
  if (setting) return setting;
  if (clusterKey.test(key)) return { key, label: "Key of one cluster, for x-cluster-key", isSecret: true };
  throw new UsageError(`Setting "${key}" not found.`, {
    hint: formatSuggestion(key, [...profileSettings.map((setting) => setting.key), "cluster_keys.CLUSTER"]),
  });
}

/** Returns the changed profile. `undefined` removes the setting. */
export function setProfileSetting(profile: Profile, key: string, value: string | undefined): Profile {
  const [, cluster] = clusterKey.exec(key) ?? [];
  if (cluster === undefined) return omitUndefined({ ...profile, [key]: value });
  return { ...profile, cluster_keys: omitUndefined({ ...profile.cluster_keys, [cluster]: value }) };
}

/** Lists the settings in effect here, with the source of each value. A secret shows only its origin. */
export async function listEffectiveSettings(context: Pick<Context, "globals" | "host">) {
  const { host } = context;
  const settings = await resolveServiceSettings(context);
  const keys = Object.entries(settings.clusterKeys);
  const shared = context.globals.profile === undefined ? readEnvironmentEmulator(host) : undefined;
  const emulator = shared ?? (await readProfileEmulator(context));
  return [
    ...toEffectiveSettings("profile", await resolveProfileSetting(context)),
    ...toEffectiveSettings("router_url", settings.router),
    ...toEffectiveSettings("contracts_url", settings.contracts),
    ...toEffectiveSettings("client_id", settings.clientId),
    ...toHiddenSetting("client_secret", settings.clientSecret),
    ...toEffectiveSettings("oauth_client_id", await resolveOAuthClientSetting(context)),
    ...keys.flatMap(([cluster, key]) => toHiddenSetting(`cluster_keys.${cluster}`, key)),
    ...toHiddenSetting("cluster_key", settings.clusterKey),
    ...toHiddenSetting("token", settings.token),
    ...toHiddenSetting("basic_auth", settings.basicAuth),
    ...appSecretList.flatMap(({ env }) =>
      toHiddenSetting(env.replace(/^SVC_/, "").toLowerCase(), readVariable(host, env)),
    ),
    ...toHiddenSetting("webhook_hmac_key", settings.hmacKey),
    ...toEffectiveSettings("emulator_url", emulator?.url),
    ...toHiddenSetting("emulator_token", emulator?.token ?? settings.controlToken),
    ...toEffectiveSettings("http_proxy", removeCredentials(readEitherCase(host, "http_proxy"))),
    ...toEffectiveSettings("https_proxy", removeCredentials(readEitherCase(host, "https_proxy"))),
    ...toEffectiveSettings("no_proxy", readEitherCase(host, "no_proxy")),
    ...toEffectiveSettings("config_dir", readVariable(host, "SVC_CONFIG_DIR")),
    ...toEffectiveSettings("state_dir", readVariable(host, "SVC_STATE_DIR")),
  ];
}

const toEffectiveSettings = (key: string, setting: SettingValue | undefined) =>
  setting ? [{ key, ...setting, isSecret: false as const }] : [];

const toHiddenSetting = (key: string, setting: SettingValue<unknown> | undefined) =>
  setting ? [{ key, origin: setting.origin, isSecret: true as const }] : [];

const readEitherCase = (host: Context["host"], name: string): SettingValue | undefined =>
  readVariable(host, name) ?? readVariable(host, name.toUpperCase());

/** Proxy URLs often contain a password, and other settings can contain one. */
const removeCredentials = (setting: SettingValue | undefined): SettingValue | undefined =>
  setting && { ...setting, value: parseProxy(setting.value)?.origin ?? "[not a proxy]" };

const firstProfile = "default";

export const changeProfiles = (context: Context, change: (file: ProfileFile) => ProfileFile): Promise<ProfileFile> =>
  changePrivateFile<ProfileFile>(context, getProfilesPath(context.host.env), checkProfiles, (content) =>
    change({ ...content, profiles: content?.profiles ?? {} }),
  );

/** Changes the named or current profile. Creates it unless it must exist. The first profile becomes current. */
export async function changeProfile(
  context: Context,
  change: (profile: Profile) => Profile,
  { mustExist = false }: { readonly mustExist?: boolean } = {},
): Promise<{ readonly name: string; readonly isNewlyCurrent: boolean }> {
  const requestedName = readProfileName(context)?.value;
  let name = requestedName ?? firstProfile;
  let isNewlyCurrent = false;
  if (!/^[A-Za-z0-9][\w.-]{0,63}$/.test(name)) {
    throw new UsageError(`Profile names must be letters, digits, dots, dashes and underscores, got "${name}"`);
  }
  await changeProfiles(context, (file) => {
    name = requestedName ?? file.current ?? firstProfile;
    if (mustExist) requireProfile(file, name);
    const before = Object.hasOwn(file.profiles, name) ? file.profiles[name]! : {};
    isNewlyCurrent = file.current === undefined;
    return { ...file, current: file.current ?? name, profiles: { ...file.profiles, [name]: change(before) } };
  });
  return { name, isNewlyCurrent };
}
