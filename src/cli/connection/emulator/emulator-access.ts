import type { Emulator } from "../../../../emulator/index.ts";
import { clustersRoute, isHidden, readinessRoute } from "../../../api/control-plane.ts";
import type { listControlClusters } from "../../../api/emulator/clusters.ts";
import type { Liveness } from "../../../api/emulator/lifecycle.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { toFields, tryParseJson } from "../../../base/object.ts";
import { CheckedCall } from "../../../client/checked-call.ts";
import { type Client, createClient } from "../../../client/client.ts";
import { isUnauthorized, NetworkError } from "../../../client/errors.ts";
import { isOnThisMachine, processExists } from "../../../files/machine.ts";
import type { Context, ServiceTarget } from "../../command.ts";
import type { Output } from "../../output/output.ts";
import { CommandFailedError } from "../../process/failure.ts";
import type { Host } from "../../process/host.ts";
import { getCredentialHint } from "../../process/service-message.ts";
import { openDirectTransport } from "../http.ts";
import { findNearestState, type RunningEmulator, readRunFileOf, type StateRunFile } from "./run-file.ts";

export type EmulatorAccess = Pick<Emulator, "routerUrl" | "controlUrl" | "token" | "clusters">;

export interface LocalEmulator extends EmulatorAccess {
  readonly state: string;
  readonly isInMemory: boolean;
}

const responseTimeoutMs = 3_000;

/**
 * Finds the running emulator of this folder. Returns undefined if there is none. A run file counts only if its emulator
 * runs and responds, so that a stale or foreign file receives no data. Throws CommandFailedError if the emulator exists
 * and does not respond, because its requests must not go to another service.
 */
export async function findLocalEmulator(host: Host): Promise<LocalEmulator | undefined> {
  const state = findNearestState(host.cwd);
  if (state === undefined) return undefined;
  const running = await readRunFileOf(state, undefined);
  if (!running || !(await isSameEmulator(running))) return undefined;
  return { ...(await readEmulatorAccess(running)), state, isInMemory: running.isInMemory };
}

/** Requests clusters and keys of a running emulator. With `isPublic`, the addresses are the public ones, if any. */
export async function readEmulatorAccess(
  running: Pick<RunningEmulator, "routerUrl" | "token">,
  isPublic = false,
): Promise<EmulatorAccess> {
  const { token } = running;
  return withControlClient(running.routerUrl, token, async (client) => {
    const { public_url: publicUrl } = isPublic ? toFields((await checkReadiness(client)).value) : {};
    const routerUrl = typeof publicUrl === "string" ? publicUrl : running.routerUrl;
    const clusters = (await listClusters(client)).map((cluster) => ({
      id: cluster.id,
      url: isPublic ? cluster.url : cluster.own_url,
      external: cluster.external,
      clusterKey: cluster.cluster_key,
      clientId: cluster.client_id ?? undefined,
      clientSecret: cluster.client_secret ?? undefined,
      hmacKey: cluster.hmac_key ?? undefined,
    }));
    return { routerUrl, controlUrl: `${routerUrl}/_emulator`, token, clusters };
  });
}

/** Checks only the fields that every emulator has. The schemas are loaded to explain an unreadable response. */
async function listClusters(client: Client): Promise<ResultOf<typeof listControlClusters>> {
  const { value } = await client.send(CheckedCall.check({ ...clustersRoute, ...outline }), singleAttempt);
  if (Array.isArray(value) && value.every(isCluster)) return value;
  const declarations = await import("../../../api/emulator/clusters.ts");
  return client.call(declarations.listControlClusters, {}, singleAttempt);
}

function isCluster(value: unknown): boolean {
  const { id, url, own_url, cluster_key } = toFields(value);
  return [id, url, own_url, cluster_key].every((field) => typeof field === "string");
}

const json = { kind: "json" } as const;
const outline = { service: { name: "emulator" }, request: {}, responses: { 200: json } } as const;
const readiness = { ...readinessRoute, ...outline, responses: { 200: json, 503: json } };

const checkReadiness = (client: Client) => client.send(CheckedCall.check(readiness), singleAttempt);

export async function listKnownWorkspaces({ routerUrl, token }: Pick<EmulatorAccess, "routerUrl" | "token">) {
  const { listWorkspaces } = await import("../../../api/emulator/state.ts");
  return withControlClient(routerUrl, token, (client) => client.call(listWorkspaces, {}, singleAttempt));
}

export type KnownWorkspace = Awaited<ReturnType<typeof listKnownWorkspaces>>[number];

/** Returns the view of one workspace. Its cluster comes first, with the workspace's keys. */
export function selectWorkspace<Access extends EmulatorAccess>(access: Access, workspace: KnownWorkspace): Access {
  const { cluster_id, client_id, client_secret, hmac_key } = workspace;
  const keys = { clientId: client_id, clientSecret: client_secret, hmacKey: hmac_key };
  const ownClusters = access.clusters.filter(({ id }) => id === cluster_id).map((cluster) => ({ ...cluster, ...keys }));
  return { ...access, clusters: [...ownClusters, ...access.clusters.filter(({ id }) => id !== cluster_id)] };
}

const singleAttempt = { retries: 0, timeoutMs: responseTimeoutMs };

/**
 * Checks whether the emulator of a run file responds at its address, without a token. No other request is sent there
 * before (DECISIONS.md, E21). Throws CommandFailedError if the emulator does not respond in time or, unless
 * `mayBeStarting`, is not ready.
 */
export async function isSameEmulator(
  { routerUrl, instanceId, pid }: Pick<RunningEmulator, "routerUrl" | "instanceId" | "pid">,
  { mayBeStarting = false }: { readonly mayBeStarting?: boolean } = {},
): Promise<boolean> {
  const createSilentError = (failure: string, hint: string, cause?: unknown) =>
    new CommandFailedError("temporary", "emulator_silent", `The emulator of this folder ${failure}.`, { hint, cause });
  try {
    const { status, value } = await withControlClient(routerUrl, undefined, checkReadiness);
    if (toFields(value).instance_id !== instanceId) return false;
    if (mayBeStarting) return true;
    // An emulator that cannot write explains the reason. It accepts reads and rejects other requests.
    if (status === 503 && toFields(value).why === undefined) {
      throw createSilentError(
        toFields(value).role === "standby" ? "is waiting for a leader of its store" : "is still starting",
        "Try again in a moment, or use other services with --base-url or --profile.",
      );
    }
    return true;
  } catch (error) {
    if (error instanceof CommandFailedError) throw error;
    const isTimeout = error instanceof NetworkError && error.code !== "ECONNREFUSED" && (await processExists(pid));
    const hint = `If it is suspended, resume it with fg. To end it, run kill -9 ${pid}.`;
    if (isTimeout) throw createSilentError(`does not respond at ${routerUrl}`, hint, error);
    return false;
  }
}

export async function withControlClient<T>(
  routerUrl: string,
  controlToken: string | undefined,
  request: (client: Client) => Promise<T>,
): Promise<T> {
  const transport = await openDirectTransport({ connectTimeoutMs: responseTimeoutMs });
  const client = createClient({
    baseUrls: { emulator: routerUrl },
    credentials: { controlToken },
    transport,
    readable: true,
  });
  try {
    return await request(client);
  } finally {
    await client.close();
  }
}

/** A local process that does not respond at once is not an emulator of this user. */
const probeTimeoutMs = 2_000;

/** Returns undefined if another program or no program listens at the address. */
export async function probeListener(url: string): Promise<Liveness | undefined> {
  const { checkLiveness } = await import("../../../api/emulator/lifecycle.ts");
  const probeOnce = { retries: 0, timeoutMs: probeTimeoutMs };
  return withControlClient(url, undefined, (client) => client.call(checkLiveness, {}, probeOnce)).catch(
    () => undefined,
  );
}

/** Returns the command line that starts an emulator. */
export const createStartCommand = (file?: string): readonly string[] => [
  ...["emulator", "start", "--detach"],
  ...(file === undefined ? [] : ["--file", file]),
];

export function createNoEmulatorError(
  state: string,
  content: StateRunFile,
  { hasFileFlag }: { readonly hasFileFlag: boolean },
): CommandFailedError {
  if (content.status === "distrusted") {
    const message = `No emulator is running with the state ${state}: the run file is ignored, because ${content.reason}.`;
    const hint = `If you started one, use --base-url and SVC_EMULATOR_TOKEN. Otherwise remove ${content.path}.`;
    return new CommandFailedError("not-found", "run_file_ignored", message, { hint });
  }
  const place = hasFileFlag
    ? "Use --file with the state of a running emulator"
    : "Run the command in the folder of a running emulator";
  return new CommandFailedError("not-found", "no_emulator", `No emulator is running (state: ${state}).`, {
    hint: `${place}, or set SVC_EMULATOR_URL and SVC_EMULATOR_TOKEN.`,
    next: createStartCommand(),
  });
}

/**
 * Suggests new variables if those of this shell name a local emulator that refuses the connection or the credentials.
 * Returns undefined for another cause, and if a flag selects the target.
 */
export function findStaleVariablesHint(error: unknown, { globals, host: { env } }: Pick<Context, "globals" | "host">) {
  const { SVC_EMULATOR_URL: control, SVC_BASE_URL, SVC_ROUTER_URL, SVC_CONTRACTS_URL } = env;
  const hasTargetFlag = globals.emulator || globals.baseUrl !== undefined || globals.profile !== undefined;
  if (hasTargetFlag || !control || !isOnThisMachine(control)) return undefined;
  const origins = [control, SVC_BASE_URL, SVC_ROUTER_URL, SVC_CONTRACTS_URL].map(getOrigin);
  const isRefused = error instanceof NetworkError && error.code === "ECONNREFUSED" && origins.includes(error.origin);
  const isRejected = isUnauthorized(error) && getCredentialHint(error) === undefined;
  if (!isRefused && !isRejected) return undefined;
  return `The variables of this shell may belong to an emulator that has ended. Run eval "$(svc emulator env)" again in the folder of a running one.`;
}

export const getOrigin = (url: string | undefined): string | undefined =>
  url !== undefined && URL.canParse(url) ? new URL(url).origin : undefined;

/**
 * Creates the variables that point programs at an emulator (DECISIONS.md, L21). `svc emulator exec` sets them and `svc
 * emulator env` prints them. Variables that are undefined must be unset, because they belong to other services or
 * users.
 */
export function createEmulatorVariables(emulator: EmulatorAccess): Readonly<Record<string, string | undefined>> {
  const { routerUrl, controlUrl, clusters, token } = emulator;
  const first = getMainCluster(emulator);
  return {
    SVC_BASE_URL: routerUrl,
    SVC_ROUTER_URL: routerUrl,
    SVC_CONTRACTS_URL: first?.url,
    SVC_CLIENT_ID: first?.clientId,
    SVC_CLIENT_SECRET: first?.clientSecret,
    SVC_CLUSTER_KEY: omitHidden(first?.clusterKey),
    SVC_WEBHOOK_HMAC_KEY: first?.hmacKey,
    SVC_EMULATOR_URL: controlUrl,
    SVC_EMULATOR_TOKEN: token,
    SVC_CLUSTERS: JSON.stringify(
      clusters.map(({ id, url, clientId, clientSecret, clusterKey }) => ({
        id,
        url,
        client_id: clientId,
        client_secret: clientSecret,
        cluster_key: omitHidden(clusterKey),
      })),
    ),
    SVC_TOKEN: undefined,
    SVC_PROFILE: undefined,
    SVC_BASIC_AUTH: undefined,
  };
}

/** Returns undefined for a hidden key. A token of one workspace cannot read the key of its cluster. */
const omitHidden = (secret: string | undefined): string | undefined => (isHidden(secret) ? undefined : secret);

export const getMainCluster = ({
  clusters,
}: Pick<EmulatorAccess, "clusters">): EmulatorAccess["clusters"][number] | undefined =>
  clusters.find(({ clientId }) => clientId !== undefined) ?? clusters[0];

export function createEmulatorConnection(emulator: EmulatorAccess): Pick<ServiceTarget, "baseUrls" | "credentials"> {
  const { routerUrl, clusters, token } = emulator;
  const first = getMainCluster(emulator);
  return {
    baseUrls: { router: routerUrl, emulator: routerUrl, contracts: first?.url ?? routerUrl },
    credentials: {
      clientId: first?.clientId,
      clientSecret: first?.clientSecret,
      clusterKeys: Object.fromEntries(clusters.map(({ id, clusterKey }) => [id, clusterKey])),
      controlToken: token,
    },
  };
}

export const collectSecrets = ({
  clusters,
  token,
}: Pick<EmulatorAccess, "clusters" | "token">): readonly (string | undefined)[] => [
  token,
  ...clusters.flatMap(({ clientSecret, clusterKey, hmacKey }) => [clientSecret, clusterKey, hmacKey]),
];

const credentialVariables = [
  ...["SVC_CLIENT_ID", "SVC_CLIENT_SECRET", "SVC_CLUSTER_KEY", "SVC_CLUSTERS", "SVC_TOKEN", "SVC_BASIC_AUTH"],
];

/**
 * Selects the view of a local emulator by the environment. Only an API key of the emulator is sent, and its workspace
 * comes first in the view. Other credentials in the environment belong to the emulator, as printed by `svc emulator
 * env`, or to a real service. The emulator checks the secret.
 */
export async function selectEnvironmentKey<Access extends EmulatorAccess>(access: Access, { env }: Pick<Host, "env">) {
  const { SVC_CLIENT_ID: clientId, SVC_CLIENT_SECRET: clientSecret } = env;
  const workspaces = clientId && clientSecret ? await listKnownWorkspaces(access) : [];
  const workspace = workspaces.find(({ client_id }) => client_id === clientId);
  const isUsed = (name: string) => workspace !== undefined && /^SVC_CLIENT_(ID|SECRET)$/.test(name);
  const unused = credentialVariables.filter((name) => env[name] && !isUsed(name) && !isOwn(name, env[name], access));
  if (!workspace || !clientId || !clientSecret) return { access, key: undefined, unused };
  return { access: selectWorkspace(access, workspace), key: { clientId, clientSecret }, unused };
}

/** A value that this emulator issued counts as used, because the emulator returns the same one. */
function isOwn(name: string, value: string, { clusters }: EmulatorAccess): boolean {
  if (name === "SVC_CLUSTER_KEY") return clusters.some(({ clusterKey }) => clusterKey === value);
  const clusterList = name === "SVC_CLUSTERS" ? tryParseJson(value) : undefined;
  const isIssued = (entry: unknown) => clusters.some(({ clusterKey }) => clusterKey === toFields(entry).cluster_key);
  return Array.isArray(clusterList) && clusterList.every(isIssued);
}

export async function reportUnusedVariables(unused: readonly string[], output: Pick<Output, "note">): Promise<void> {
  if (unused.length === 0) return;
  await output.note(`Ignored: ${unused.join(", ")} (not known to this emulator; see svc help addresses)`);
}
