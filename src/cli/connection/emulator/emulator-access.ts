import type { Emulator } from "../../../../emulator/index.ts";
import { clustersRoute, readinessRoute } from "../../../api/control-plane.ts";
import type { listControlClusters } from "../../../api/emulator/clusters.ts";
import type { Liveness } from "../../../api/emulator/lifecycle.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { toFields } from "../../../base/object.ts";
import { CheckedCall } from "../../../client/checked-call.ts";
import { type Client, createClient } from "../../../client/client.ts";
import { NetworkError } from "../../../client/errors.ts";
import { processExists } from "../../../files/machine.ts";
import type { ServiceTarget } from "../../command.ts";
import { CommandFailedError } from "../../process/failure.ts";
import type { Host } from "../../process/host.ts";
import { openDirectTransport } from "../http.ts";
import { findNearestState, type RunningEmulator, readRunFileOf } from "./run-file.ts";

export type EmulatorAccess = Pick<Emulator, "routerUrl" | "controlUrl" | "token" | "clusters">;

export interface LocalEmulator extends EmulatorAccess, Pick<RunningEmulator, "isInMemory" | "store"> {
  readonly state: string;
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
  return { ...(await readEmulatorAccess(running)), state, isInMemory: running.isInMemory, store: running.store };
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

type KnownWorkspace = Awaited<ReturnType<typeof listKnownWorkspaces>>[number];

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
    // The request failed in this process, so it says nothing about the emulator.
    if (error instanceof NetworkError && error.code === "UNKNOWN") throw error;
    const isTimeout = error instanceof NetworkError && error.code !== "ECONNREFUSED" && (await processExists(pid));
    const hint = `It may be busy: try again. If it is suspended, resume it with fg. To end it, run kill -9 ${pid}.`;
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

export const getMainCluster = ({ clusters }: Pick<EmulatorAccess, "clusters">) =>
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

export const collectSecrets = ({ clusters, token }: Pick<EmulatorAccess, "clusters" | "token">) => [
  token,
  ...clusters.flatMap(({ clientSecret, clusterKey, hmacKey }) => [clientSecret, clusterKey, hmacKey]),
];
