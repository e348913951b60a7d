import { relative } from "node:path";
import { showClock } from "../../api/emulator/clock.ts";
import { getOrigin } from "../../base/urls.ts";
import { createIntegerFlag } from "../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../command.ts";
import {
  type EmulatorAccess,
  findLocalEmulator,
  getMainCluster,
  type LocalEmulator,
} from "../connection/emulator/emulator-access.ts";
import { defaultPort, resolveStateFile } from "../connection/emulator/run-file.ts";
import { pollUntil } from "../connection/follow.ts";
import { openClient } from "../connection/http.ts";
import { resolveControlTarget, resolveServiceTarget } from "../connection/target.ts";
import {
  openWebhookReceiver,
  type ReceivedWebhookRequest,
  type WebhookReceiver,
} from "../connection/webhook-receiver.ts";
import type { Output } from "../output/output.ts";
import { bold } from "../output/styled.ts";
import { formatTargetFlags } from "../parse/argv.ts";
import { CommandFailedError, UsageError } from "../process/failure.ts";
import type { Host } from "../process/host.ts";
import { canPrompt } from "../prompt/terminal.ts";
import { createSessionScreen } from "./dev/screen.ts";
import { createDevSession } from "./dev/session.ts";
import { openEmulator } from "./emulator/open.ts";
import { requireTrust } from "./emulator/start/detach.ts";
import {
  chooseResponse,
  forwardingFlags,
  type HandledDelivery,
  openDeliverySender,
  readForwardingFlags,
  type VerifiedDelivery,
  verifyReceivedDelivery,
} from "./webhooks/forwarding.ts";
import { fetchKey } from "./webhooks/signing-key.ts";

const dev = defineCommand({
  words: ["dev"],
  summary: "Run an emulator and forward its webhooks to your app",
  description:
    "Starts the emulator of this folder or joins a running one, creates a webhook, verifies each delivery and forwards it to your app. Shows each request and each delivery with the response of your app, and below them the virtual time, what is due next, and failing webhooks. Press a key to create, send or sign a contract, resend a delivery, add a fault or advance the clock. Press ? to list the keys. Each key prints its equivalent command. Reports when your app is down, a webhook is disabled or the emulator has ended, and continues afterwards. In a pipe and with --json, no keys are read. With --json, each event is a line of JSON, the first of which is ready.",
  flags: [
    ...forwardingFlags,
    createIntegerFlag("port", "Port of an emulator that is started (default: 4010, or a free one)", {
      min: 0,
      max: 65_535,
    }),
  ],
  examples: [
    ["Forward webhooks to an app on port 3000", "dev --forward-to 3000"],
    ["Show webhooks without an app", "dev"],
    ["Print JSON for a script", "dev --forward-to localhost:3000/hooks --json"],
  ],
  async run({ flags }, context) {
    const { host, globals, output } = context;
    const [targetFlag] = formatTargetFlags(globals);
    if (targetFlag !== undefined)
      throw new UsageError(`${targetFlag} cannot be used with svc dev, which uses the emulator of this folder`);
    const plan = readForwardingFlags(flags);
    const isTable = output.format === "table";
    const isInteractive = isTable && host.stdout.isTTY === true && canPrompt(host, globals);
    const screen = createSessionScreen(context, isInteractive);
    const screenContext = createFolderContext(context, { ...output, warn: (line) => screen.showNotice(line) });
    const emulator = await startOrJoinEmulator(flags.port, screenContext);
    await reportOtherEmulator(emulator, context);
    const session = createDevSession({ ...plan, isInteractive }, screenContext, screen);
    const receiver = await openSessionReceiver(plan, (delivery) => session.onDelivery(delivery), screenContext);
    await session.subscribe(receiver);
    const ready = { emulator, receiverUrl: receiver.url, webhookId: session.webhookId, forwardTo: plan.forwardTo };
    if (isTable) await screen.print(...formatReadyLines(ready, isInteractive, host));
    else await output.printDocument(toReadyDocument(ready));
    if (!isInteractive) await output.note("Press Ctrl-C to stop");
    await session.run();
    context.signal.throwIfAborted();
  },
});

interface SessionEmulator extends EmulatorAccess {
  readonly state: string;
  /** Whether the emulator ends with the session. */
  readonly isOwn: boolean;
}

const maxStartMs = 10_000;
const getErrorCode = (error: unknown): string | undefined =>
  error instanceof CommandFailedError ? error.code : undefined;

/** Joins the emulator of this folder or starts one. Uses free ports if the default ports are taken. */
async function startOrJoinEmulator(port: number | undefined, context: Context): Promise<SessionEmulator> {
  const running = await findLocalEmulator(context.host).catch((error: unknown) => {
    if (getErrorCode(error) !== "emulator_silent") throw error;
    return waitForEmulator(context);
  });
  if (running) return { ...running, isOwn: false };
  const state = resolveStateFile(context.host, undefined);
  await requireTrust(state, {}, context);
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
async function waitForEmulator(context: Context): Promise<LocalEmulator> {
  let silentError: unknown;
  const found = pollUntil(context, maxStartMs, "the emulator of this folder", () => {
    silentError = undefined;
    return findLocalEmulator(context.host).catch((error: unknown) => {
      if (getErrorCode(error) !== "emulator_silent") throw error;
      silentError = error;
      return undefined;
    });
  });
  return found.catch((error: unknown) => {
    // A suspended emulator never starts. Its error has the way out.
    throw getErrorCode(error) === "wait_timeout" ? (silentError ?? error) : error;
  });
}

/** Reports that the environment names another emulator, because its user may expect this session to join it. */
async function reportOtherEmulator({ controlUrl }: EmulatorAccess, { host, output }: Context): Promise<void> {
  const other = getOrigin(host.env.SVC_EMULATOR_URL);
  if (other === undefined || other === getOrigin(controlUrl)) return;
  await output.warn(`warning: SVC_EMULATOR_URL (${other}) is ignored: svc dev uses the emulator of this folder`);
}

/** Removes the variables that select services other than the emulator of the folder. */
const clearedVariables = Object.fromEntries(
  [
    ...["BASE_URL", "ROUTER_URL", "CONTRACTS_URL", "EMULATOR_URL", "EMULATOR_TOKEN", "CLIENT_ID", "CLIENT_SECRET"],
    ...["CLUSTER_KEY", "CLUSTERS", "WEBHOOK_HMAC_KEY", "PROFILE", "TOKEN"],
  ].map((name) => [`SVC_${name}`, undefined]),
);

/** Creates a context whose services are always those of this folder's emulator, at its current address. */
function createFolderContext(context: Context, output: Output): Context {
  const { globals, signal, onEnd } = context;
  const host = { ...context.host, env: { ...context.host.env, ...clearedVariables } };
  // The start of the session already reported the selected emulator.
  const quiet = { ...output, note: async () => {} };
  const target: Context["target"] = (service) =>
    service === "emulator"
      ? resolveControlTarget(globals, host, undefined, quiet, { isOwn: true })
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
function toReadyDocument({ emulator, receiverUrl, webhookId, forwardTo }: ReadySession) {
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

function formatReadyLines({ emulator, webhookId, forwardTo }: ReadySession, hasKeys: boolean, host: Host) {
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

/** Opens the receiver of a session. It verifies and forwards each delivery, and returns the app's response. */
async function openSessionReceiver(
  { forwardTo, extraHeaders }: { forwardTo: string | undefined; extraHeaders: Readonly<Record<string, string>> },
  onDelivery: (delivery: HandledDelivery) => Promise<void>,
  context: Context,
): Promise<WebhookReceiver> {
  const poster = forwardTo === undefined ? undefined : await openDeliverySender(context);
  let key = await fetchKey(context);
  let count = 0;

  async function verify(request: ReceivedWebhookRequest): Promise<VerifiedDelivery> {
    const facts = { number: count, nowMs: context.host.wall.now() };
    const verified = await verifyReceivedDelivery(request, { ...facts, key });
    if (verified.reason !== "mismatch") return verified;
    // A replaced state has a different key.
    key = await fetchKey(context).catch(() => key);
    return verifyReceivedDelivery(request, { ...facts, key });
  }

  const receiver = await openWebhookReceiver({
    signal: context.signal,
    async respond(post) {
      count += 1;
      const arrivedAt = fetchTime(context);
      const verified = await verify(post);
      const forwardResult = await poster?.post(forwardTo!, post, extraHeaders);
      await onDelivery({ ...verified, at: (await arrivedAt) ?? verified.at, file: null, forwardResult });
      return chooseResponse(verified, forwardResult);
    },
  });
  context.onEnd(() => receiver.close());
  return receiver;
}

/** Returns the virtual time, as in requests and attempts of a session, or undefined if the emulator has just ended. */
async function fetchTime(context: Context): Promise<string | undefined> {
  const client = await context.client("emulator", { connections: 1 }).catch(() => undefined);
  const clock = await client?.call(showClock, {}, { retries: 0 }).catch(() => undefined);
  return clock?.now;
}

export const commands: readonly Command[] = [dev];
