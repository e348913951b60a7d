import { listActivities } from "../../../api/emulator/activities.ts";
import { showClock } from "../../../api/emulator/clock.ts";
import { listDeliveries } from "../../../api/emulator/deliveries.ts";
import { listFaults } from "../../../api/emulator/faults.ts";
import { showTrace } from "../../../api/emulator/traces.ts";
import { listControlWebhooks } from "../../../api/emulator/webhooks.ts";
import type { ResultOf } from "../../../api/operation.ts";
import type { Delivery } from "../../../api/webhook-health/attempts.ts";
import { assessDeletedWebhook, assessWebhook, type Webhook } from "../../../api/webhook-health/health.ts";
import type { Client } from "../../../client/client.ts";
import type { DeletedWebhook, WebhookReading } from "./failing-webhook.ts";

type QueryContext = { readonly client: Client; readonly signal: AbortSignal };
type Page = ResultOf<typeof listDeliveries>;

/** Page size of the log, and the number of newest deliveries to read. The console uses the same number. */
const pageSize = 500;
const maxDeliveries = 10_000;

/** Reads the health of webhooks in as few requests as possible. */
export async function readHealth(webhooks: readonly Webhook[], queryContext: QueryContext): Promise<WebhookReading[]> {
  const { client, signal } = queryContext;
  const [{ deliveries, isWhole }, now] = await Promise.all([
    readLog(webhooks.length === 1 ? webhooks[0]!.id : undefined, queryContext),
    getVirtualTime(queryContext),
  ]);
  const faults = await client.call(listFaults, {}, { signal });
  const own = groupByWebhook(deliveries);
  const read: WebhookReading[] = [];
  for (const webhook of webhooks) {
    // Webhooks with only older deliveries need a request each. They are few.
    const known = own.get(webhook.id) ?? (isWhole ? [] : (await fetchFirstPage(webhook.id, queryContext)).items);
    read.push({
      webhook,
      deliveries: known,
      now,
      health: assessWebhook(webhook, { deliveries: known, faults, formatTime }),
    });
  }
  if (read.every(({ health, deliveries: known }) => !health.isUntouched || known.length > 0)) return read;
  const activities = await client.call(listActivities, {}, { signal });
  return read.map((one) => {
    if (!one.health.isUntouched || one.webhook.status === "DELETED") return one;
    const context = { deliveries: one.deliveries, faults, happened: activities, formatTime, now };
    return { ...one, health: assessWebhook(one.webhook, context) };
  });
}

function groupByWebhook(deliveries: readonly Delivery[]): ReadonlyMap<number, Delivery[]> {
  const own = new Map<number, Delivery[]>();
  for (const one of deliveries) {
    const list = own.get(one.webhook_id);
    if (list) list.push(one);
    else own.set(one.webhook_id, [one]);
  }
  return own;
}

/** Returns undefined if no delivery of the webhook is stored. */
export async function readDeletedWebhook(id: number, queryContext: QueryContext): Promise<WebhookReading | undefined> {
  const [{ deliveries }, now] = await Promise.all([readLog(id, queryContext), getVirtualTime(queryContext)]);
  const [first] = deliveries;
  if (!first) return undefined;
  const webhook: DeletedWebhook = { id, workspace_id: first.workspace_id, status: "DELETED" };
  return { webhook, deliveries, now, health: assessDeletedWebhook(deliveries, formatTime) };
}

export async function addTrace(read: WebhookReading, { client, signal }: QueryContext): Promise<WebhookReading> {
  if (read.deliveries.length === 0) return { ...read, trace: { nodes: [], planned: [] } };
  const trace = await client.call(showTrace, { params: { ref: `webhook:${read.webhook.id}` } }, { signal });
  return { ...read, trace };
}

async function getVirtualTime({ client, signal }: QueryContext): Promise<number> {
  return Date.parse((await client.call(showClock, {}, { signal })).now);
}

const formatTime = (iso: string): string => iso;

async function fetchFirstPage(
  webhook: number | undefined,
  { client, signal }: QueryContext,
  offset = 0,
): Promise<Page> {
  return client.call(listDeliveries, { query: { webhook, limit: pageSize, offset } }, { signal });
}

async function readLog(webhook: number | undefined, queryContext: QueryContext) {
  const found = new Map<number, Delivery>();
  for (let offset = 0; ; offset += pageSize) {
    const { items, total } = await fetchFirstPage(webhook, queryContext, offset);
    for (const one of items) found.set(one.id, one);
    const isWhole = items.length < pageSize || offset + items.length >= total;
    if (isWhole || found.size >= maxDeliveries) return { deliveries: [...found.values()], isWhole };
  }
}

type DisabledWebhook = ResultOf<typeof listControlWebhooks>[number];

/** Finds disabled webhooks whose deliveries wait for an attempt, which will be skipped (DECISIONS.md, C18). */
export async function findDisabledWebhooks(
  client: Client,
  deliveries: readonly { readonly webhook_id: number; readonly outcome: string }[],
  signal: AbortSignal,
): Promise<readonly DisabledWebhook[]> {
  const waiting = deliveries.filter(({ outcome }) => outcome === "waiting" || outcome === "retrying");
  if (waiting.length === 0) return [];
  const ids = new Set(waiting.map(({ webhook_id }) => webhook_id));
  const all = await client.call(listControlWebhooks, {}, { signal });
  return all.filter(({ id, status }) => ids.has(id) && status !== "ACTIVE");
}
