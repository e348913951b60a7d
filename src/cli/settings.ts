import type { Context } from "./command.ts";
import type { Profile } from "./config/profile.ts";
import { chosenProfile, profilesPath } from "./config/profile.ts";
import { proxyOf } from "./connection/proxies.ts";
import { UsageError } from "./failure.ts";
import { checkedUrl } from "./parse/globals.ts";
import { meant } from "./parse/suggest.ts";

/** A field of a profile that people set. */
export interface Setting {
  readonly key: string;
  readonly what: string;
  readonly isSecret: boolean;
  /** The value as it is kept. Throws UsageError. */
  readonly checked: (text: string) => string;
}

const asGiven = (text: string) => text;
const setting = (key: string, what: string, checked: Setting["checked"] = asGiven, isSecret = false): Setting => ({
  key,
  what,
  isSecret,
  checked,
});

export const settings: readonly Setting[] = [
  setting("router_url", "Address of the routing service", (text) => checkedUrl(text, "router_url")),
  setting("contracts_url", "Address of the contract API", (text) => checkedUrl(text, "contracts_url")),
  setting("client_id", "Public half of the workspace's API key"),
  setting("client_secret", "Secret half of the workspace's API key", asGiven, true),
  setting("oauth_client_id", "OAuth client of svc auth device-login"),
];

const clusterKey = /^cluster_keys\.([A-Za-z0-9][\w-]*)$/;

/** The setting of a key such as `router_url` or `cluster_keys.eu-1`. */
export function settingOf(key: string): Setting {
  const known = settings.find((one) => one.key === key);
  if (known) return known;
  if (clusterKey.test(key)) return setting(key, "Key of one cluster, for x-cluster-key", asGiven, true);
  throw new UsageError(`There is no setting "${key}".`, {
    hint: meant(key, [...settings.map((one) => one.key), "cluster_keys.CLUSTER"]),
  });
}

/** The profile with a setting changed; undefined takes it away. */
export function withSetting(profile: Profile, key: string, value: string | undefined): Profile {
  const cluster = clusterKey.exec(key)?.[1];
  const change = <T extends object>(of: T, name: string): T =>
    Object.fromEntries([
      ...Object.entries(of).filter(([known]) => known !== name),
      ...(value === undefined ? [] : [[name, value]]),
    ]) as T;
  return cluster === undefined
    ? change(profile, key)
    : { ...profile, cluster_keys: change(profile.cluster_keys ?? {}, cluster) };
}

export interface EffectiveSetting {
  readonly key: string;
  readonly value: string;
  /** Where it was found: a flag, a variable, a profile with its file. */
  readonly origin: string;
  readonly isSecret: boolean;
}

/** What commands of this surrounding would use, with the place that each value comes from, in the order of precedence. */
export async function effectiveSettings({
  globals,
  host,
}: Pick<Context, "globals" | "host">): Promise<EffectiveSetting[]> {
  const { env } = host;
  const chosen = await chosenProfile(globals.profile, env);
  const isNamed = globals.profile !== undefined;
  const place = chosen && `profile ${chosen.name} in ${profilesPath(env)}`;
  const found = (key: string, value: string | undefined, origin: string, isSecret = false): EffectiveSetting[] =>
    value === undefined || value === "" ? [] : [{ key, value, origin, isSecret }];
  const variable = (key: string, name: string, isSecret = false) => found(key, env[name], name, isSecret);
  const inProfile = (key: string, value: string | undefined, isSecret = false) =>
    found(key, value, place ?? "", isSecret);
  const profile = chosen?.profile ?? {};

  const router = [...variable("router_url", "SVC_ROUTER_URL"), ...variable("router_url", "SVC_BASE_URL")];
  const contracts = [...variable("contracts_url", "SVC_CONTRACTS_URL"), ...variable("contracts_url", "SVC_BASE_URL")];
  const flag = (key: string) => found(key, globals.baseUrl, "--base-url");
  const fromEnv = !isNamed && router.length + contracts.length > 0;
  // Addresses come from one place as a whole: half an environment is not mixed with half a profile.
  const addresses = (key: "router_url" | "contracts_url", own: EffectiveSetting[]): EffectiveSetting[] => {
    const other = key === "router_url" ? profile.contracts_url : profile.router_url;
    return [...flag(key), ...(fromEnv ? own : inProfile(key, profile[key] ?? other))].slice(0, 1);
  };
  const usesProfile = isNamed || (globals.baseUrl === undefined && !fromEnv);
  const envPair = [...variable("client_id", "SVC_CLIENT_ID"), ...variable("client_secret", "SVC_CLIENT_SECRET", true)];
  const profilePair = usesProfile
    ? [...inProfile("client_id", profile.client_id), ...inProfile("client_secret", profile.client_secret, true)]
    : [];
  const [first, second] = isNamed ? [profilePair, envPair] : [envPair, profilePair];
  const keys = usesProfile ? Object.entries(profile.cluster_keys ?? {}) : [];
  return [
    ...found("profile", chosen?.name, isNamed ? "--profile" : env.SVC_PROFILE ? "SVC_PROFILE" : profilesPath(env)),
    ...addresses("router_url", router),
    ...addresses("contracts_url", contracts),
    ...(first.length > 0 ? first : second),
    ...variable("oauth_client_id", "SVC_OAUTH_CLIENT_ID")
      .concat(inProfile("oauth_client_id", profile.oauth_client_id))
      .slice(0, 1),
    ...variable("clusters", "SVC_CLUSTERS", true),
    ...keys.flatMap(([cluster, key]) => inProfile(`cluster_keys.${cluster}`, key, true)),
    ...variable("cluster_key", "SVC_CLUSTER_KEY", true),
    ...variable("token", "SVC_TOKEN", true),
    ...variable("basic_auth", "SVC_BASIC_AUTH", true),
    ...variable("http_proxy", env.http_proxy ? "http_proxy" : "HTTP_PROXY").map(withoutCredentials),
    ...variable("https_proxy", env.https_proxy ? "https_proxy" : "HTTPS_PROXY").map(withoutCredentials),
    ...variable("no_proxy", env.no_proxy ? "no_proxy" : "NO_PROXY"),
    ...variable("config_dir", "SVC_CONFIG_DIR"),
  ];
}

/** Proxies are often named with a password; what names none may hold one all the same. */
const withoutCredentials = (found: EffectiveSetting): EffectiveSetting => ({
  ...found,
  value: proxyOf(found.value)?.origin ?? "[names no proxy]",
});
