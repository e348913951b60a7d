import { didYouMean } from "../../base/suggest.ts";
import { UsageError } from "../failure.ts";
import { parseBaseUrlFlag } from "../parse/globals.ts";
import type { Profile } from "./profile.ts";

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
  setting("router_url", "Address of the routing service", (text) => parseBaseUrlFlag(text, "router_url")),
  setting("contracts_url", "Address of the contract API", (text) => parseBaseUrlFlag(text, "contracts_url")),
  setting("client_id", "Client ID of the workspace's API key"),
  setting("client_secret", "Secret of the workspace's API key", asGiven, true),
  setting("token", "Bearer token, instead of a sign-in", asGiven, true),
  setting("oauth_client_id", "OAuth client of svc auth device-login"),
  setting("emulator_url", "Address of a shared emulator", (text) => parseBaseUrlFlag(text, "emulator_url")),
  setting("emulator_token", "Token of its control plane", asGiven, true),
];

const clusterKey = /^cluster_keys\.([A-Za-z0-9][\w-]*)$/;

/** The setting of a key such as `router_url` or `cluster_keys.eu-1`. */
export function findSetting(key: string): Setting {
  const known = settings.find((one) => one.key === key);
  if (known) return known;
  if (clusterKey.test(key)) return setting(key, "Key of one cluster, for x-cluster-key", asGiven, true);
  throw new UsageError(`Setting "${key}" not found.`, {
    hint: didYouMean(key, [...settings.map((one) => one.key), "cluster_keys.CLUSTER"]),
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
