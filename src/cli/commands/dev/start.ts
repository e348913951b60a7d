import { relative } from "node:path";
import type { Context } from "../../command.ts";
import {
  type EmulatorAccess,
  findLocalEmulator,
  getMainCluster,
  type LocalEmulator,
} from "../../connection/emulator/emulator-access.ts";
import { defaultPort, resolveStateFile } from "../../connection/emulator/run-file.ts";
import { pollUntil } from "../../connection/follow.ts";
import { openClient } from "../../connection/http.ts";
import { resolveControlTarget, resolveServiceTarget } from "../../connection/target.ts";
import type { Output } from "../../output/output.ts";
import { bold } from "../../output/styled.ts";
import { CommandFailedError } from "../../process/failure.ts";
import type { Host } from "../../process/host.ts";
import { openEmulator } from "../emulator/open.ts";
import { requireTrust } from "../emulator/start/detach.ts";

export interface SessionEmulator extends EmulatorAccess {
  readonly state: string;
  /** Whether the emulator ends with the session. */
  readonly isOwn: boolean;
}

const maxStartMs = 10_000;
const getErrorCode = (error: unknown): string | undefined =>
  error instanceof CommandFailedError ? error.code : undefined;

/** Joins the emulator of this folder or starts one. Uses free ports if the default ports are taken. */
export async function startOrJoinEmulator(port: number | undefined, context: Context): Promise<SessionEmulator> {
  const running = await findLocalEmulator(context.host).catch((error: unknown) => {
    if (getErrorCode(error) !== "emulator_silent") throw error;
    return waitForEmulator(context);
  });
  if (running) return { ...running, isOwn: false };
  const state = resolveStateFile(context.host, undefined);
  await requireTrust(state, false, context);
  const log = (line: string) => void context.output.warn(line);
  const open = (at: number) => openEmulator({ port: at, file: state }, context, { runFileState: state, log });
  const opening = open(port ?? defaultPort).catch((error: unknown) => {
    if (port !== undefined || getErrorCode(error) !== "port_taken") throw error;
    return open(0);
  });
  const emulator = await opening.catch((error: unknown) => {
    if (getErrorCode(error) !== "already_running") throw error;
  });
  // Another session of this folder started its emulator first.
  if (!emulator) return { ...(await waitForEmulator(context)), isOwn: false };
  const { routerUrl, controlUrl, token, clusters } = emulator;
  return { routerUrl, controlUrl, token, clusters, state, isOwn: true };
}

/** Waits for the emulator that another session is starting in this folder. */
const waitForEmulator = (context: Context): Promise<LocalEmulator> =>
  pollUntil(context, maxStartMs, "the emulator of this folder", () =>
    findLocalEmulator(context.host).catch((error: unknown) => {
      if (getErrorCode(error) !== "emulator_silent") throw error;
      return undefined;
    }),
  );

/** Removes the variables that select services other than the emulator of the folder. */
const clearedVariables = Object.fromEntries(
  [
    ...["BASE_URL", "ROUTER_URL", "CONTRACTS_URL", "EMULATOR_URL", "EMULATOR_TOKEN", "CLIENT_ID", "CLIENT_SECRET"],
    ...["CLUSTER_KEY", "CLUSTERS", "WEBHOOK_HMAC_KEY", "PROFILE", "TOKEN"],
  ].map((name) => [`SVC_${name}`, undefined]),
);

/** Creates a context whose services are always those of this folder's emulator, at its current address. */
export function createFolderContext(context: Context, output: Output): Context {
  const { globals, signal, onEnd } = context;
  const host = { ...context.host, env: { ...context.host.env, ...clearedVariables } };
  // The start of the session already reported the selected emulator.
  const quiet = { ...output, note: async () => {} };
  const target: Context["target"] = (service) =>
    service === "emulator"
      ? resolveControlTarget(globals, host, undefined, quiet, true)
      : resolveServiceTarget(globals, host, quiet);
  return {
    ...context,
    host,
    output,
    target,
    client: async (service, { connections } = {}) =>
      openClient({ host, globals, output, onEnd }, await target(service), { connections, signal }),
    svc: (argv, options) => context.svc(argv, { ...options, env: { ...clearedVariables, ...options?.env } }),
  };
}

interface ReadySession {
  readonly emulator: SessionEmulator;
  readonly receiverUrl: string;
  readonly webhookId: number | undefined;
  readonly forwardTo: string | undefined;
}

/** Creates the first document for programs. It includes the keys of the emulator, because they protect no real data. */
export function toReadyDocument({ emulator, receiverUrl, webhookId, forwardTo }: ReadySession) {
  const cluster = getMainCluster(emulator);
  return {
    type: "ready",
    ui: "1.0",
    times: "virtual",
    started: emulator.isOwn,
    router_url: emulator.routerUrl,
    contracts_url: cluster?.url ?? null,
    control_url: emulator.controlUrl,
    client_id: cluster?.clientId ?? null,
    client_secret: cluster?.clientSecret ?? null,
    hmac_key: cluster?.hmacKey ?? null,
    state: emulator.state,
    receiver_url: receiverUrl,
    webhook_id: webhookId ?? null,
    forward_to: forwardTo ?? null,
  };
}

export function formatReadyLines({ emulator, webhookId, forwardTo }: ReadySession, hasKeys: boolean, host: Host) {
  const cluster = getMainCluster(emulator);
  const state = relative(host.cwd, emulator.state) || emulator.state;
  const target =
    forwardTo === undefined ? "shown here; --forward-to 3000 forwards to your app" : `forwarded to ${forwardTo}`;
  return [
    [bold("ready"), `  emulator ${emulator.isOwn ? "started" : "joined"}, state in ${state}`],
    `  router       ${emulator.routerUrl}`,
    `  contracts    ${cluster?.url ?? "none"}`,
    `  client id    ${cluster?.clientId ?? "none"}`,
    `  secret       ${cluster?.clientSecret ?? "none"}`,
    `  signing key  ${cluster?.hmacKey ?? "none"}`,
    `  webhook      ${webhookId ?? "none"}, ${target}`,
    "  times        virtual (clock of the emulator), in UTC",
    ...(hasKeys ? ["Press c to create a contract, s to send and sign it, ? for all keys, q to quit."] : []),
  ];
}
