import type { Credentials } from "../../client/credentials.ts";
import type { BaseUrls } from "../../client/request.ts";
import type { Target } from "../command.ts";
import { chosenProfile, type Profile } from "../config/profile.ts";
import { CommandFailed, UsageError } from "../failure.ts";
import type { Host } from "../host.ts";
import type { Output } from "../output/output.ts";
import { checkedUrl, type Globals } from "../parse/globals.ts";
import { readRunFile, runFileOf, stateFile } from "./run-file.ts";
import { noteStateAbove } from "./state-folder.ts";

/** The address of the services: flags before the environment, the environment before the profile (design.md, section 10). */
export async function serviceTarget(globals: Globals, host: Host): Promise<Target> {
  const { env } = host;
  const fromEnv = (name: string) => (env[name] ? checkedUrl(env[name], name) : undefined);
  if (globals.baseUrl !== undefined) {
    const { baseUrl } = globals;
    const target = { baseUrls: { router: baseUrl, contracts: baseUrl, emulator: baseUrl }, origin: "--base-url" };
    return { ...target, credentials: await credentials(globals, host) };
  }
  // A profile named on the command line outranks the addresses in the environment.
  const named = globals.profile === undefined ? undefined : await chosenProfile(globals.profile, env);
  const base = fromEnv("SVC_BASE_URL");
  const baseUrls: BaseUrls = {
    router: fromEnv("SVC_ROUTER_URL") ?? base,
    contracts: fromEnv("SVC_CONTRACTS_URL") ?? base,
  };
  if (!named && (baseUrls.router ?? baseUrls.contracts) !== undefined) {
    return { baseUrls, origin: "environment", credentials: await credentials(globals, host) };
  }
  const chosen = named ?? (await chosenProfile(undefined, env));
  if (!chosen) {
    throw new UsageError("It is not known where the services are.", {
      hint: "Give --base-url URL, set SVC_BASE_URL, choose a --profile, or try it with --emulator.",
    });
  }
  const { router_url: router, contracts_url: contracts } = chosen.profile;
  return {
    baseUrls: { router: router ?? contracts, contracts: contracts ?? router },
    origin: `profile ${chosen.name}`,
    credentials: await credentials(globals, host, chosen.profile),
  };
}

/** The control plane of a running emulator: by its state file, the environment, or the run file in this folder. */
export async function controlTarget(
  globals: Globals,
  host: Host,
  file: string | undefined,
  output: Output,
): Promise<Target> {
  const { env } = host;
  if (globals.baseUrl !== undefined) {
    const controlToken = env.SVC_EMULATOR_TOKEN;
    return { baseUrls: { emulator: globals.baseUrl }, origin: "--base-url", credentials: { controlToken } };
  }
  if (file === undefined && env.SVC_EMULATOR_URL) {
    const url = checkedUrl(env.SVC_EMULATOR_URL, "SVC_EMULATOR_URL").replace(/\/_emulator$/, "");
    const controlToken = env.SVC_EMULATOR_TOKEN;
    return { baseUrls: { emulator: url, router: url }, origin: "SVC_EMULATOR_URL", credentials: { controlToken } };
  }
  const path = await runFileOf(stateFile(host, file));
  const running = await readRunFile(path);
  if (!running) {
    throw new CommandFailed("failed", "no_emulator", `No emulator runs on ${stateFile(host, file)}.`, {
      hint: "Name the state of a running one with --file, or set SVC_EMULATOR_URL and SVC_EMULATOR_TOKEN.",
      next: ["emulator", "start"],
    });
  }
  await noteStateAbove(host, output, stateFile(host, file), file);
  const { routerUrl, token } = running;
  return { baseUrls: { emulator: routerUrl, router: routerUrl }, origin: path, credentials: { controlToken: token } };
}

interface ClusterEntry {
  readonly id?: string;
  readonly cluster_key?: string;
}

/** Credentials of the environment, over those of the profile; but a profile that a flag names outranks both. */
async function credentials(globals: Globals, { env }: Host, profile?: Profile): Promise<Credentials> {
  const isNamed = globals.profile !== undefined;
  const from = profile ?? (isNamed ? ((await chosenProfile(globals.profile, env))?.profile ?? {}) : {});
  const basic = env.SVC_BASIC_AUTH;
  const colon = basic?.indexOf(":") ?? -1;
  const ofProfile = { clientId: from.client_id, clientSecret: from.client_secret };
  const ofEnvironment = { clientId: env.SVC_CLIENT_ID || undefined, clientSecret: env.SVC_CLIENT_SECRET || undefined };
  const [first, second] = isNamed ? [ofProfile, ofEnvironment] : [ofEnvironment, ofProfile];
  const keys = [clusterKeys(env.SVC_CLUSTERS), from.cluster_keys ?? {}];
  return {
    // Half a pair of one place must not be mixed with half a pair of another.
    ...((first.clientId ?? first.clientSecret) === undefined ? second : first),
    clusterKeys: Object.assign({}, ...(isNamed ? keys : keys.reverse())),
    clusterKey: env.SVC_CLUSTER_KEY,
    bearer: env.SVC_TOKEN,
    controlToken: env.SVC_EMULATOR_TOKEN,
    basic: basic && colon > 0 ? { username: basic.slice(0, colon), password: basic.slice(colon + 1) } : undefined,
  };
}

function clusterKeys(text: string | undefined): Record<string, string> {
  if (!text) return {};
  try {
    const entries = JSON.parse(text) as ClusterEntry[];
    return Object.fromEntries(entries.flatMap(({ id, cluster_key: key }) => (id && key ? [[id, key]] : [])));
  } catch (cause) {
    throw new UsageError("SVC_CLUSTERS is not a JSON array of clusters.", { cause });
  }
}
