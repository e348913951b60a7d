import type { Context } from "../command.ts";
import { parseProxy } from "../connection/proxies.ts";
import {
  oauthClientSetting,
  profileSetting,
  readEnvironmentEmulator,
  readProfileEmulator,
  readVariable,
  type SettingValue,
  serviceSettings,
} from "../settings.ts";
import { appSecrets } from "./secrets.ts";

/** One setting as it is shown. A secret has no value here: only its origin is told. */
export type EffectiveSetting =
  | { readonly key: string; readonly origin: string; readonly isSecret: false; readonly value: string }
  | { readonly key: string; readonly origin: string; readonly isSecret: true };

/** What commands of this surrounding would use, with the place that each value comes from. */
export async function effectiveSettings(context: Pick<Context, "globals" | "host">): Promise<EffectiveSetting[]> {
  const { host } = context;
  const found = await serviceSettings(context);
  const keys = Object.entries(found.clusterKeys);
  const shared = context.globals.profile === undefined ? readEnvironmentEmulator(host) : undefined;
  const emulator = shared ?? (await readProfileEmulator(context));
  return [
    ...shown("profile", await profileSetting(context)),
    ...shown("router_url", found.router),
    ...shown("contracts_url", found.contracts),
    ...shown("client_id", found.clientId),
    ...hidden("client_secret", found.clientSecret),
    ...shown("oauth_client_id", await oauthClientSetting(context)),
    ...keys.flatMap(([cluster, key]) => hidden(`cluster_keys.${cluster}`, key)),
    ...hidden("cluster_key", found.clusterKey),
    ...hidden("token", found.token),
    ...hidden("basic_auth", found.basicAuth),
    ...Object.values(appSecrets).flatMap(({ env }) => hidden(keyOf(env), readVariable(host, env))),
    ...hidden("webhook_hmac_key", found.hmacKey),
    ...shown("emulator_url", emulator?.url),
    ...hidden("emulator_token", emulator?.token ?? found.controlToken),
    ...shown("http_proxy", withoutCredentials(eitherCase(host, "http_proxy"))),
    ...shown("https_proxy", withoutCredentials(eitherCase(host, "https_proxy"))),
    ...shown("no_proxy", eitherCase(host, "no_proxy")),
    ...shown("config_dir", readVariable(host, "SVC_CONFIG_DIR")),
    ...shown("state_dir", readVariable(host, "SVC_STATE_DIR")),
  ];
}

const shown = (key: string, found: SettingValue | undefined): EffectiveSetting[] =>
  found ? [{ key, ...found, isSecret: false }] : [];

const hidden = (key: string, found: SettingValue<unknown> | undefined): EffectiveSetting[] =>
  found ? [{ key, origin: found.origin, isSecret: true }] : [];

const keyOf = (name: string): string => name.replace(/^SVC_/, "").toLowerCase();

const eitherCase = (host: Context["host"], name: string): SettingValue | undefined =>
  readVariable(host, name) ?? readVariable(host, name.toUpperCase());

/** Proxies are often named with a password; what names none may hold one all the same. */
const withoutCredentials = (found: SettingValue | undefined): SettingValue | undefined =>
  found && { ...found, value: parseProxy(found.value)?.origin ?? "[not a proxy]" };
