import { type Activity, activities as known } from "../../../api/activities.ts";
import { pluralize } from "../../../base/pluralize.ts";
import { findNearest } from "../../../base/suggest.ts";
import type { Context } from "../../command.ts";
import { UsageError } from "../../failure.ts";
import { listenerTitle, removeStaleListeners } from "./stale-listeners.ts";

/** The activities of a repeatable flag that takes lists: `A,B`. Throws a UsageError for what is none. */
export function parseActivities(lists: readonly string[] | undefined): readonly Activity[] | undefined {
  const names = lists?.flatMap((list) => list.split(",")).map((name) => name.trim().toUpperCase());
  const given = names?.filter((name) => name !== "");
  if (given === undefined || given.length === 0) return undefined;
  return [...new Set(given)].map(parseActivity);
}

/** An activity in any case; a UsageError that names the nearest otherwise. */
export function parseActivity(text: string): Activity {
  const found = known.find((name) => name === text.toUpperCase().replaceAll("-", "_"));
  if (found) return found;
  // Thirty-nine names would hide what is wrong.
  const near = findNearest(text, known);
  throw new UsageError(`Activity "${text}" not found.`, {
    hint: near === undefined ? "To list the activities, run svc webhooks trigger." : `Did you mean ${near}?`,
  });
}

/**
 * Subscribes a receiver until the run ends, where the service can reach it: an address of this machine needs a
 * service on this machine. Returns the id of the webhook; undefined where nothing was subscribed.
 */
export async function subscribe(
  context: Context,
  { url, activities }: { readonly url: string; readonly activities: readonly string[] },
): Promise<number | undefined> {
  const target = await context.target("contracts").catch((error: unknown) => {
    // A key was given, and nothing says where a service is: then a receiver alone is what is wanted.
    if (error instanceof UsageError) return undefined;
    throw error;
  });
  const service = target?.baseUrls.contracts;
  if (service === undefined || (isLocal(url) && !isLocal(service))) return undefined;
  const { createWebhook, deleteWebhook } = await import("../../../api/contracts/webhooks.ts");
  const removed = await removeStaleListeners(context);
  if (removed > 0) await context.output.note(`Removed ${pluralize(removed, "webhook")} of stopped listeners`);
  const client = await context.client("contracts", { connections: 2 });
  const { id } = await client.call(
    createWebhook,
    { body: { title: listenerTitle, url, only_for_activities: [...activities] as Activity[] } },
    { signal: context.signal },
  );
  context.atEnd(async () => {
    // The service may have gone meanwhile, and the subscription with it.
    await client.call(deleteWebhook, { params: { webhook_id: id } }, { retries: 0, timeoutMs: 700 }).catch(() => {});
  });
  return id;
}

/** Whether the service is one of this machine: its keys protect nothing. */
export async function isLocalService(context: Context): Promise<boolean> {
  const target = await context.target("contracts").catch(() => undefined);
  return target?.baseUrls.contracts !== undefined && isLocal(target.baseUrls.contracts);
}

function isLocal(text: string): boolean {
  const { hostname } = new URL(text);
  return hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "[::1]" || /^127\./.test(hostname);
}
