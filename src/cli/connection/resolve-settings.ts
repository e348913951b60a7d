import { relative } from "node:path";
import { toFields, tryParseJson } from "../../base/object.ts";
import { trimTrailing } from "../../base/text.ts";
import { type GlobalOptions, parseBaseUrlFlag } from "../parse/globals.ts";
import { CommandFailedError, UsageError } from "../process/failure.ts";
import type { Host } from "../process/host.ts";
import { findLocalEmulator, getMainCluster, type LocalEmulator } from "./emulator/emulator-access.ts";
import { selectEnvironmentKey } from "./emulator/emulator-variables.ts";
import { describeState } from "./emulator/run-file.ts";
import { getProfilesPath, readProfiles, requireProfile } from "./profiles/profile.ts";

export interface SettingValue<T = string> {
  readonly value: T;
  /** Source of the value: a flag, a variable, or a profile with its file. */
  readonly origin: string;
}

type SettingsContext = { readonly globals: Pick<GlobalOptions, "baseUrl" | "profile">; readonly host: Host };

/** Addresses of the services and credentials. Undefined values are not set. */
interface ServiceSettings {
  /** Common source of the addresses. Undefined if no address is configured. */
  readonly chosenBy: string | undefined;
  readonly router: SettingValue | undefined;
  readonly contracts: SettingValue | undefined;
  readonly clientId: SettingValue | undefined;
  readonly clientSecret: SettingValue | undefined;
  readonly clusterKeys: Readonly<Record<string, SettingValue>>;
  readonly clusterKey: SettingValue | undefined;
  readonly basicAuth: SettingValue<{ readonly username: string; readonly password: string }> | undefined;
  /** Bearer token that takes precedence over every sign-in. */
  readonly token: SettingValue | undefined;
  readonly hmacKey: SettingValue | undefined;
  readonly controlToken: SettingValue | undefined;
  /** Whether the services are those of this folder's emulator, without another setting that names it. */
  readonly isEmulatorHere: boolean;
  /** Description of the state of that emulator, for users. */
  readonly stateName?: string;
  /** Whether the services are those of the current profile, without a setting that names it. */
  readonly isCurrentProfile: boolean;
  /** Variables with credentials of other services, which are not sent. */
  readonly unused: readonly string[];
}

/** Reads a variable without the line break that the file of a secret leaves after its value. */
export function readVariable({ env }: Pick<Host, "env">, name: string): SettingValue | undefined {
  const value = trimTrailing(env[name] ?? "", "\r\n");
  return value ? { value, origin: name } : undefined;
}

/**
 * Resolves the settings from flags, environment, the emulator of this folder, and profile, in this order. A profile of
 * --profile takes precedence over the environment, and one of SVC_PROFILE over the emulator (DECISIONS.md, L20).
 * Profiles are read only when needed. Only this function determines the order.
 */
export async function resolveServiceSettings({ globals, host }: SettingsContext): Promise<ServiceSettings> {
  const isNamed = globals.profile !== undefined;
  const flag = globals.baseUrl === undefined ? undefined : { value: globals.baseUrl, origin: "--base-url" };
  const readAddress = (name: string) => (isNamed || flag ? undefined : checkUrl(readVariable(host, name)));
  const base = readAddress("SVC_BASE_URL");
  const envRouter = readAddress("SVC_ROUTER_URL") ?? base;
  const envContracts = readAddress("SVC_CONTRACTS_URL") ?? base;
  const isFromEnv = (envRouter ?? envContracts) !== undefined;
  const isExplicit = isNamed || isFromEnv || flag !== undefined || readVariable(host, "SVC_PROFILE") !== undefined;
  const localEmulator = isExplicit ? undefined : await findLocalEmulator(host);
  if (localEmulator) return createEmulatorSettings(localEmulator, host);
  const profile = isNamed || !(flag || isFromEnv) ? await resolveProfile({ globals, host }) : undefined;
  const router = profile?.read("router_url");
  const contracts = profile?.read("contracts_url");

  const profileKeys = { clientId: profile?.read("client_id"), clientSecret: profile?.read("client_secret") };
  const pair = { clientId: readVariable(host, "SVC_CLIENT_ID"), clientSecret: readVariable(host, "SVC_CLIENT_SECRET") };
  const [first, fallback] = isNamed ? [profileKeys, pair] : [pair, profileKeys];
  const keys = [readEnvironmentKeys(host), profile?.clusterKeys];
  return {
    chosenBy: flag ? "--base-url" : isFromEnv ? "environment" : profile && `profile ${profile.name.value}`,
    // All addresses come from one source, so that a partial environment is not mixed with a partial profile.
    router: flag ?? envRouter ?? checkUrl(router ?? toFallback("contracts_url", contracts)),
    contracts: flag ?? (isFromEnv ? envContracts : checkUrl(contracts ?? toFallback("router_url", router))),
    // Both halves of a pair come from one source.
    ...((first.clientId ?? first.clientSecret) === undefined ? fallback : first),
    clusterKeys: Object.assign({}, ...(isNamed ? keys : keys.reverse())),
    clusterKey: readVariable(host, "SVC_CLUSTER_KEY"),
    basicAuth: parseBasicAuth(readVariable(host, "SVC_BASIC_AUTH")),
    token: (isNamed ? profile?.read("token") : undefined) ?? readVariable(host, "SVC_TOKEN") ?? profile?.read("token"),
    hmacKey: readVariable(host, "SVC_WEBHOOK_HMAC_KEY"),
    controlToken: readVariable(host, "SVC_EMULATOR_TOKEN"),
    isEmulatorHere: false,
    isCurrentProfile: profile !== undefined && readProfileName({ globals, host }) === undefined,
    unused: [],
  };
}

/**
 * Returns the settings of an emulator with only its own credentials. Credentials of a profile or a sign-in must not be
 * sent to it. The environment provides only a known API key, which selects the workspace.
 */
async function createEmulatorSettings(emulator: LocalEmulator, host: Host): Promise<ServiceSettings> {
  const stateName = emulator.store ?? relative(host.cwd, emulator.state);
  const origin = emulator.isInMemory
    ? "the emulator of this folder, in memory"
    : `the emulator with the state ${stateName}`;
  const toSetting = (value: string): SettingValue => ({ value, origin });
  const toOwnSetting = (value: string | undefined) => (value === undefined ? undefined : toSetting(value));
  const { access: localEmulator, key, unused } = await selectEnvironmentKey(emulator, host);
  const first = getMainCluster(localEmulator);
  return {
    chosenBy: origin,
    router: toSetting(localEmulator.routerUrl),
    contracts: toSetting(first?.url ?? localEmulator.routerUrl),
    clientId: key ? readVariable(host, "SVC_CLIENT_ID") : toOwnSetting(first?.clientId),
    clientSecret: key ? readVariable(host, "SVC_CLIENT_SECRET") : toOwnSetting(first?.clientSecret),
    clusterKeys: Object.fromEntries(localEmulator.clusters.map(({ id, clusterKey }) => [id, toSetting(clusterKey)])),
    clusterKey: undefined,
    basicAuth: undefined,
    token: undefined,
    // A signing key in the environment is for deliveries of any origin and is never sent.
    hmacKey: readVariable(host, "SVC_WEBHOOK_HMAC_KEY") ?? toOwnSetting(first?.hmacKey),
    controlToken: toSetting(localEmulator.token),
    isEmulatorHere: true,
    stateName: describeState(host, emulator.state, emulator),
    isCurrentProfile: false,
    unused,
  };
}

function toControlPlane(address: SettingValue | undefined, token: SettingValue | undefined) {
  const url = checkUrl(address);
  return url && { url: { ...url, value: url.value.replace(/\/_emulator$/, "") }, token };
}

export const readEnvironmentEmulator = (host: Pick<Host, "env">) =>
  toControlPlane(readVariable(host, "SVC_EMULATOR_URL"), readVariable(host, "SVC_EMULATOR_TOKEN"));

/**
 * Resolves the control plane of a profile. Returns undefined if the profile has none. Only this control plane receives
 * the profile's token. Without one, as in a pipeline, the environment provides the token.
 */
export async function readProfileEmulator(surroundings: SettingsContext) {
  const profile = await resolveProfile(surroundings);
  const token = profile?.read("emulator_token") ?? readVariable(surroundings.host, "SVC_EMULATOR_TOKEN");
  return toControlPlane(profile?.read("emulator_url"), token);
}

/** Returns the public half of the API key in a profile that names an emulator. The key selects the workspace. */
export async function readProfileKey(surroundings: SettingsContext): Promise<string | undefined> {
  const profile = await resolveProfile(surroundings);
  return profile?.read("emulator_url") === undefined ? undefined : profile.read("client_id")?.value;
}

/**
 * Resolves the emulator without a state on the command line. An emulator of --profile precedes the environment, and one
 * of SVC_PROFILE precedes the emulator of this folder, as for other settings. The current profile comes last.
 */
export async function resolveEmulatorSetting(surroundings: SettingsContext, isLocalRunning: boolean) {
  const { globals, host } = surroundings;
  const profileEmulator = globals.profile === undefined ? undefined : await readProfileEmulator(surroundings);
  if (globals.profile !== undefined && !profileEmulator)
    throw new CommandFailedError("not-found", "no_emulator", `Profile ${globals.profile} names no emulator.`, {
      hint: `Set its address with svc config set emulator_url URL --profile ${globals.profile}, or omit --profile.`,
    });
  const first = profileEmulator ?? readEnvironmentEmulator(host);
  if (first) return first;
  if (readVariable(host, "SVC_PROFILE") === undefined && isLocalRunning) return undefined;
  return readProfileEmulator(surroundings);
}

/** The environment precedes the profile, regardless of how the profile was selected. */
export const resolveOAuthClientSetting = async (surroundings: SettingsContext): Promise<SettingValue | undefined> =>
  readVariable(surroundings.host, "SVC_OAUTH_CLIENT_ID") ??
  (await resolveProfile(surroundings))?.read("oauth_client_id");

export const resolveProfileSetting = async (surroundings: SettingsContext): Promise<SettingValue | undefined> =>
  (await resolveProfile(surroundings))?.name;

/** Returns the name even if the profile does not exist. */
export const readProfileName = ({ globals, host }: SettingsContext): SettingValue | undefined =>
  globals.profile === undefined ? readVariable(host, "SVC_PROFILE") : { value: globals.profile, origin: "--profile" };

async function resolveProfile(surroundings: SettingsContext) {
  const { env } = surroundings.host;
  const file = await readProfiles(env);
  const name =
    readProfileName(surroundings) ??
    (file.current === undefined ? undefined : { value: file.current, origin: getProfilesPath(env) });
  if (name === undefined) return undefined;
  const { cluster_keys: keys = {}, ...profile } = requireProfile(file, name.value);
  const origin = `profile ${name.value} in ${getProfilesPath(env)}`;
  const toSetting = (value: string): SettingValue => ({ value, origin });
  return {
    name,
    clusterKeys: Object.fromEntries(Object.entries(keys).map(([id, value]) => [id, toSetting(value)])),
    read: (key: keyof typeof profile) => (profile[key] ? toSetting(profile[key]) : undefined),
  };
}

const toFallback = (key: string, setting: SettingValue | undefined): SettingValue | undefined =>
  setting && { ...setting, origin: `${key} of ${setting.origin}` };

const checkUrl = (setting: SettingValue | undefined): SettingValue | undefined =>
  setting && { ...setting, value: parseBaseUrlFlag(setting.value, setting.origin) };

function readEnvironmentKeys(host: Pick<Host, "env">): Record<string, SettingValue> {
  const text = readVariable(host, "SVC_CLUSTERS");
  if (!text) return {};
  const entries = tryParseJson(text.value);
  if (!Array.isArray(entries)) throw new UsageError("SVC_CLUSTERS must be a JSON array of clusters.");
  const keys = entries.map(toFields).flatMap(({ id, cluster_key: value }) => {
    if (typeof id !== "string" || typeof value !== "string" || id === "" || value === "") return [];
    return [[id, { value, origin: text.origin }] as const];
  });
  return Object.fromEntries(keys);
}

function parseBasicAuth(text: SettingValue | undefined): ServiceSettings["basicAuth"] {
  const colon = text?.value.indexOf(":") ?? -1;
  if (!text || colon < 1) return undefined;
  return {
    origin: text.origin,
    value: { username: text.value.slice(0, colon), password: text.value.slice(colon + 1) },
  };
}
