import { connect, type Socket } from "node:net";
import { type Activity, activities as known } from "../../../api/activities.ts";
import { createWebhook, deleteWebhook } from "../../../api/contracts/webhooks.ts";
import { listControlWebhooks } from "../../../api/emulator/webhooks.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { onAbort } from "../../../base/concurrency.ts";
import { isOneOf, toFields } from "../../../base/object.ts";
import { findNearest, pluralize } from "../../../base/text.ts";
import { CheckedCall } from "../../../client/checked-call.ts";
import type { Client } from "../../../client/client.ts";
import { ServiceError } from "../../../client/errors.ts";
import type { CallOptions } from "../../../client/published.d.ts";
import { type ApiResponse, requireValidValue } from "../../../client/response.ts";
import { isOnThisMachine, lookupHost } from "../../../files/machine.ts";
import type { Context } from "../../command.ts";
import { openClient } from "../../connection/http.ts";
import { resolveServiceTarget } from "../../connection/target.ts";
import { formatNextCommand } from "../../parse/argv.ts";
import { explainError } from "../../process/exit.ts";
import { UsageError } from "../../process/failure.ts";

/** Parses the activities of a repeatable flag that accepts lists: `A,B`. Throws a UsageError for unknown ones. */
export function parseActivities(lists: readonly string[] | undefined): readonly Activity[] | undefined {
  const names = lists?.flatMap((list) => list.split(",")).map((name) => name.trim().toUpperCase());
  const activityNames = names?.filter((name) => name !== "");
  if (activityNames === undefined || activityNames.length === 0) return undefined;
  return [...new Set(activityNames)].map(parseActivity);
}

export function parseActivity(text: string): Activity {
  const match = known.find((name) => name === text.toUpperCase().replaceAll("-", "_"));
  if (match) return match;
  // A list of thirty-nine names would hide the error.
  const nearest = findNearest(text, known);
  throw new UsageError(`Activity "${text}" not found.`, {
    hint: nearest === undefined ? "To list the activities, run svc webhooks trigger." : `Did you mean ${nearest}?`,
  });
}

export interface CreatedWebhook {
  readonly id: number;
  readonly url: string;
  /** Whether it was last observed to be deleted, also by the replacement of the state. */
  isDeleted: boolean;
}

/**
 * Creates a webhook for a receiver until the run ends, if the service can reach it. A local address needs a local
 * service. Returns the webhook, or undefined if none was created.
 */
export async function subscribe(
  context: Context,
  { url, activities, title }: { url: string; activities: readonly string[]; title: (typeof listenerTitles)[number] },
): Promise<CreatedWebhook | undefined> {
  const target = await context.target("contracts").catch((error: unknown) => {
    // With a key and without a configured service, only the receiver is needed.
    if (error instanceof UsageError) return undefined;
    throw error;
  });
  const service = target?.baseUrls.contracts;
  if (service === undefined || (isOnThisMachine(url) && !isOnThisMachine(service))) return undefined;
  // A real service has no control plane.
  const control = await context.client("emulator").catch(() => undefined);
  const client = await context.client("contracts", { connections: 2 });
  const body = { title, url, only_for_activities: [...activities] as Activity[] };
  const id = getId(await client.send(CheckedCall.check(createWebhook, { body })));
  const list = async (from: Client | undefined, options: CallOptions) =>
    (await from?.call(listControlWebhooks, {}, options)) ?? [];
  const created: CreatedWebhook = { id, url, isDeleted: false };
  const isOwn = (webhook: ControlWebhook) => webhook.id === id && webhook.url === url;
  let isListed = false;
  context.onEnd(async () => {
    // After a restart, the emulator can have another address. After a reset, the ID can be that of another webhook.
    const [service, currentControl] = isListed ? await openCurrentClients(context).catch(() => []) : [];
    const current = currentControl && (await list(currentControl, removalOptions).catch(() => undefined));
    if (current ? !current.some(isOwn) : created.isDeleted) return;
    await (current && service ? service : client)
      .call(deleteWebhook, { params: { webhook_id: id } }, removalOptions)
      .catch((error: unknown) => reportRemainingWebhook(id, error, context));
  });
  const webhooks = await list(control, { retries: 0 }).catch(() => []);
  // The emulator of this folder can differ from the service in use.
  isListed = webhooks.some(isOwn);
  if (isListed) await removeStaleListeners(webhooks, client, context);
  return created;
}

/** Opens clients of the services at their present addresses. The context keeps those of its first request. */
async function openCurrentClients(context: Context): Promise<[service: Client, control: Client]> {
  const { globals, host } = context;
  const output = { ...context.output, note: async () => {} };
  const target = globals.emulator ? context.target("contracts") : resolveServiceTarget(globals, host, output);
  return [await openClient(context, await target), await context.client("emulator")];
}

type ControlWebhook = ResultOf<typeof listControlWebhooks>[number];

/** Only the timeout ends the request, because the signal of the command is aborted already. */
const removalOptions = { signal: new AbortController().signal, retries: 0, timeoutMs: 700 };

function getId(response: ApiResponse): number {
  const { id } = toFields(response.value);
  return typeof id === "number" ? id : requireValidValue(response as ApiResponse<{ id: number }>).id;
}

async function reportRemainingWebhook(id: number, error: unknown, context: Context): Promise<void> {
  if (error instanceof ServiceError && error.status === 404) return;
  const line = formatNextCommand(["webhooks", "delete", String(id)], context);
  await context.output.warn(`warning: Webhook ${id} was not deleted. ${explainError(error).message}`);
  await context.output.warn(`To delete it: ${line}`);
}

/** Reports whether the service runs on this machine, where its keys protect nothing. */
export async function isLocalService(context: Context): Promise<boolean> {
  const target = await context.target("contracts").catch(() => undefined);
  return target?.baseUrls.contracts !== undefined && isOnThisMachine(target.baseUrls.contracts);
}

/** Titles of webhooks that live as long as a command: the command itself. */
const listenerTitles = ["svc webhooks listen", "svc dev"] as const;

/** A local port that does not respond in this time is busy, not closed. */
const probeTimeoutMs = 500;

/**
 * Removes the webhooks of listeners that were killed, because their deliveries would be retried. Active listeners
 * keep their webhooks.
 */
async function removeStaleListeners(all: readonly ControlWebhook[], client: Client, context: Context): Promise<void> {
  let removedCount = 0;
  for (const { id, title, url } of all) {
    const isOnLoopback = ["127.0.0.1", "localhost"].includes(new URL(url).hostname);
    if (!isOneOf(listenerTitles, title) || !isOnLoopback || !(await isRefused(url))) continue;
    // 404 means that the webhook belongs to another workspace, which these credentials cannot access.
    const isRemoved = await client.call(deleteWebhook, { params: { webhook_id: id } }).then(
      () => true,
      (error: unknown) => reportRemainingWebhook(id, error, context).then(() => false),
    );
    if (isRemoved) removedCount += 1;
  }
  if (removedCount > 0) await context.output.note(`Removed ${pluralize(removedCount, "webhook")} of stopped listeners`);
}

/** Connects to the address of a URL and closes the connection. A port can be silent behind a firewall. */
export function probePort(
  url: string,
  { timeout, signal }: { readonly timeout: number; readonly signal?: AbortSignal } = { timeout: probeTimeoutMs },
): Promise<"open" | "refused" | "silent"> {
  const { hostname } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve("silent");
    const socket = connect({ host, port: getPort(url), timeout, lookup: lookupHost });
    const report = (state: "open" | "refused" | "silent") => {
      stopWaiting?.();
      socket.destroy();
      resolve(state);
    };
    // The option `signal` of a socket leaves a listener on the signal.
    const stopWaiting = signal && onAbort(signal, () => report("silent"));
    socket.on("connect", () => report(isConnectedToItself(socket) ? "refused" : "open"));
    socket.on("timeout", () => report("silent"));
    socket.on("error", ({ code }: NodeJS.ErrnoException) => report(code === "ECONNREFUSED" ? "refused" : "silent"));
  });
}

/** Linux can give a socket the port to which it connects, and then the socket accepts its own connection. */
const isConnectedToItself = ({ localAddress, localPort, remoteAddress, remotePort }: Socket): boolean =>
  localPort === remotePort && localAddress === remoteAddress;

export const isRefused = async (url: string): Promise<boolean> => (await probePort(url)) === "refused";

export function getPort(url: string): number {
  const { port, protocol } = new URL(url);
  return Number(port || (protocol === "https:" ? 443 : 80));
}
