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

type Page = ResultOf<typeof listDeliveries>;

/** Page size of the log, and the number of newest deliveries to read. The console uses the same number. */
const pageSize = 500;
const maxDeliveries = 10_000;

/** Reads the health of webhooks in as few requests as possible. */
export async function readHealth(webhooks: readonly Webhook[], client: Client): Promise<WebhookReading[]> {
  const [{ deliveries, isWhole }, now] = await Promise.all([
    readLog(webhooks.length === 1 ? webhooks[0]!.id : undefined, client),
    getVirtualTime(client),
  ]);
  const faults = await client.call(listFaults);
  const deliveriesByWebhook = groupByWebhook(deliveries);
  const readings: WebhookReading[] = [];
  for (const webhook of webhooks) {
    // Webhooks with only older deliveries need a request each. They are few.
    const deliveriesOfWebhook =
      deliveriesByWebhook.get(webhook.id) ?? (isWhole ? [] : (await fetchFirstPage(webhook.id, client)).items);
    readings.push({
      webhook,
      deliveries: deliveriesOfWebhook,
      now,
      health: assessWebhook(webhook, { deliveries: deliveriesOfWebhook, faults, formatTime }),
    });
  }
  if (
    readings.every(
      ({ health, deliveries: deliveriesOfWebhook }) => !health.isUntouched || deliveriesOfWebhook.length > 0,
    )
  )
    return readings;
  const activities = await client.call(listActivities);
  return readings.map((reading) => {
    if (!reading.health.isUntouched || reading.webhook.status === "DELETED") return reading;
    const context = { deliveries: reading.deliveries, faults, pastActivities: activities, formatTime, now };
    return { ...reading, health: assessWebhook(reading.webhook, context) };
  });
}

function groupByWebhook(deliveries: readonly Delivery[]): ReadonlyMap<number, Delivery[]> {
  const byWebhook = new Map<number, Delivery[]>();
  for (const delivery of deliveries) {
    const list = byWebhook.get(delivery.webhook_id);
    if (list) list.push(delivery);
    else byWebhook.set(delivery.webhook_id, [delivery]);
  }
  return byWebhook;
}

/** Returns undefined if no delivery of the webhook is stored. */
export async function readDeletedWebhook(id: number, client: Client): Promise<WebhookReading | undefined> {
  const [{ deliveries }, now] = await Promise.all([readLog(id, client), getVirtualTime(client)]);
  const [first] = deliveries;
  if (!first) return undefined;
  const webhook: DeletedWebhook = { id, workspace_id: first.workspace_id, status: "DELETED" };
  return { webhook, deliveries, now, health: assessDeletedWebhook(deliveries, formatTime) };
}

export async function addTrace(reading: WebhookReading, client: Client): Promise<WebhookReading> {
  if (reading.deliveries.length === 0) return { ...reading, trace: { nodes: [], planned: [] } };
  const trace = await client.call(showTrace, { params: { ref: `webhook:${reading.webhook.id}` } });
  return { ...reading, trace };
}

async function getVirtualTime(client: Client): Promise<number> {
  return Date.parse((await client.call(showClock)).now);
}

const formatTime = (iso: string): string => iso;

async function fetchFirstPage(webhook: number | undefined, client: Client, offset = 0): Promise<Page> {
  return client.call(listDeliveries, { query: { webhook, limit: pageSize, offset } });
}

async function readLog(webhook: number | undefined, client: Client) {
  const deliveries = new Map<number, Delivery>();
  for (let offset = 0; ; offset += pageSize) {
    const { items, total } = await fetchFirstPage(webhook, client, offset);
    for (const item of items) deliveries.set(item.id, item);
    const isWhole = items.length < pageSize || offset + items.length >= total;
    if (isWhole || deliveries.size >= maxDeliveries) return { deliveries: [...deliveries.values()], isWhole };
  }
}

type DisabledWebhook = ResultOf<typeof listControlWebhooks>[number];

/** Finds disabled webhooks whose deliveries wait for an attempt, which will be skipped (DECISIONS.md, C18). */
export async function findDisabledWebhooks(
  client: Client,
  deliveries: readonly { readonly webhook_id: number; readonly outcome: string }[],
): Promise<readonly DisabledWebhook[]> {
  const waiting = deliveries.filter(({ outcome }) => outcome === "waiting" || outcome === "retrying");
  if (waiting.length === 0) return [];
  const ids = new Set(waiting.map(({ webhook_id }) => webhook_id));
  const all = await client.call(listControlWebhooks);
  return all.filter(({ id, status }) => ids.has(id) && status !== "ACTIVE");
}
