import type { Emulator } from "../../../../emulator/index.ts";
import { toFields } from "../../../base/object.ts";
import { CheckedCall } from "../../../client/checked-call.ts";
import { createClient } from "../../../client/client.ts";
import { NetworkError } from "../../../client/errors.ts";
import { processExists } from "../../../files/machine.ts";
import { CommandFailedError } from "../../process/failure.ts";
import type { Host } from "../../process/host.ts";
import { findNearestState, type RunningEmulator, readRunFile, resolveRunFile } from "./run-file.ts";

/** Address and credentials of an emulator: of one in this process, or of one that runs elsewhere. */
export type EmulatorAccess = Pick<Emulator, "routerUrl" | "controlUrl" | "token" | "clusters">;

/** An emulator that runs on a state of this folder or of one above it. */
export interface LocalEmulator extends EmulatorAccess {
  /** Its state file, absolute. */
  readonly state: string;
}

const patienceMs = 3_000;

/**
 * The emulator that runs here; undefined if none does. A run file counts only if the very emulator that wrote it
 * answers: a stale one sends nothing of ours anywhere. Throws CommandFailedError if it exists and does not answer: its
 * requests must not go to another service.
 */
export async function findLocalEmulator(host: Host): Promise<LocalEmulator | undefined> {
  const state = findNearestState(host.cwd);
  if (state === undefined) return undefined;
  const running = await readRunFile(await resolveRunFile(state));
  if (!running || !(await isSameEmulator(running))) return undefined;
  return { ...(await readEmulatorAccess(running)), state };
}

/** Asks a running emulator for its clusters and keys: where programs of this machine find them. */
export async function readEmulatorAccess(
  running: Pick<RunningEmulator, "routerUrl" | "token">,
): Promise<EmulatorAccess> {
  return createAccess(running, running.routerUrl, "own_url");
}

/** The same, where clients outside find them: at the public addresses, where it was started with such. */
export async function readPublicAccess(running: Pick<RunningEmulator, "routerUrl" | "token">): Promise<EmulatorAccess> {
  const { checkReadiness } = await import("../../../api/emulator/lifecycle.ts");
  const { public_url } = await withControlClient(running.routerUrl, undefined, (client) =>
    client.call(checkReadiness, {}, once),
  );
  return createAccess(running, public_url ?? running.routerUrl, "url");
}

async function createAccess(
  { routerUrl: askedAt, token }: Pick<RunningEmulator, "routerUrl" | "token">,
  routerUrl: string,
  address: "url" | "own_url",
): Promise<EmulatorAccess> {
  const { listControlClusters } = await import("../../../api/emulator/clusters.ts");
  const found = await withControlClient(askedAt, token, (client) => client.call(listControlClusters, {}, once));
  return {
    routerUrl,
    controlUrl: `${routerUrl}/_emulator`,
    token,
    clusters: found.map((one) => ({
      id: one.id,
      url: one[address],
      external: one.external,
      clusterKey: one.cluster_key,
      clientId: one.client_id ?? undefined,
      clientSecret: one.client_secret ?? undefined,
      hmacKey: one.hmac_key ?? undefined,
    })),
  };
}

/** Users of an emulator, with the keys of each. */
export async function listKnownWorkspaces({ routerUrl, token }: Pick<EmulatorAccess, "routerUrl" | "token">) {
  const { listWorkspaces } = await import("../../../api/emulator/state.ts");
  return withControlClient(routerUrl, token, (client) => client.call(listWorkspaces, {}, once));
}

export type KnownWorkspace = Awaited<ReturnType<typeof listKnownWorkspaces>>[number];

/** An emulator as one of its workspaces sees it: its cluster first, with its own keys. */
export function selectWorkspace<Access extends EmulatorAccess>(access: Access, workspace: KnownWorkspace): Access {
  const { cluster_id, client_id, client_secret, hmac_key } = workspace;
  const keys = { clientId: client_id, clientSecret: client_secret, hmacKey: hmac_key };
  const own = access.clusters.filter(({ id }) => id === cluster_id).map((cluster) => ({ ...cluster, ...keys }));
  return { ...access, clusters: [...own, ...access.clusters.filter(({ id }) => id !== cluster_id)] };
}

const once = { retries: 0, timeoutMs: patienceMs };

/**
 * Whether the very emulator of a run file answers at its address. Before this is known, nothing is sent there. Throws
 * CommandFailedError if it does not answer in time or, unless `mayBeStarting`, does not serve yet.
 */
export async function isSameEmulator(
  { routerUrl, instanceId, pid }: RunningEmulator,
  { mayBeStarting = false }: { readonly mayBeStarting?: boolean } = {},
): Promise<boolean> {
  const { checkReadiness } = await import("../../../api/emulator/lifecycle.ts");
  const createSilentError = (how: string, cause?: unknown) =>
    new CommandFailedError("temporary", "emulator_silent", `The emulator of this folder ${how}.`, {
      hint: "Try again in a moment, or use other services with --base-url or --profile.",
      cause,
    });
  try {
    const { status, value } = await withControlClient(routerUrl, undefined, (client) =>
      client.send(CheckedCall.check(checkReadiness), once),
    );
    if (toFields(value).instance_id !== instanceId) return false;
    if (mayBeStarting) return true;
    // It says why where it serves and cannot write: reads are answered then, and the others in its own words.
    if (status === 503 && toFields(value).why === undefined) {
      throw createSilentError(
        toFields(value).role === "standby" ? "is waiting for a leader of its store" : "is still starting",
      );
    }
    return true;
  } catch (error) {
    if (error instanceof CommandFailedError) throw error;
    const hangs = error instanceof NetworkError && error.code !== "ECONNREFUSED" && (await isProcessAlive(pid));
    if (hangs) throw createSilentError(`does not respond at ${routerUrl}`, error);
    return false;
  }
}

/** Whether nothing listens there. */
export async function isConnectionRefused(url: string): Promise<boolean> {
  const { checkReadiness } = await import("../../../api/emulator/lifecycle.ts");
  return withControlClient(url, undefined, (client) => client.send(CheckedCall.check(checkReadiness), once)).then(
    () => false,
    (error: unknown) => error instanceof NetworkError && error.code === "ECONNREFUSED",
  );
}

/** Whether an emulator is gone that did not take its run file away: its process, and whatever would answer for it. */
export async function isStaleRunFile(running: RunningEmulator): Promise<boolean> {
  return !(await isProcessAlive(running.pid)) && !(await isSameEmulator(running).catch(() => true));
}

/** Looked up when something is wrong. */
export async function isProcessAlive(pid: number): Promise<boolean> {
  return processExists(pid);
}

/** Asks what listens at an address, with a control token or none. */
export async function withControlClient<T>(
  routerUrl: string,
  controlToken: string | undefined,
  ask: (client: ReturnType<typeof createClient>) => Promise<T>,
): Promise<T> {
  const { createTransport } = await import("../../../client/transport.ts");
  const transport = createTransport({ connectTimeoutMs: patienceMs });
  const client = createClient({
    baseUrls: { emulator: routerUrl },
    credentials: { controlToken },
    transport,
    readable: true,
  });
  try {
    return await ask(client);
  } finally {
    await client.close();
  }
}
