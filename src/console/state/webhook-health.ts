import { computed, signal } from "@preact/signals";
import type { Delivery } from "../../api/webhook-health/attempts.ts";
import type { Fault } from "../../api/webhook-health/faults.ts";
import { assessDeletedWebhook, assessWebhook, type WebhookHealth } from "../../api/webhook-health/health.ts";
import { callOperation } from "../api/call.ts";
import { formatTime } from "../format.ts";
import { areDeliveriesRead, deliveries, webhooks } from "./deliveries.ts";

/** The scripted trouble there is. */
export const faults = signal<readonly Fault[]>([]);

export const readFaults = async (): Promise<void> => {
  faults.value = await callOperation("faults.list");
};

const byWebhook = computed(() => {
  const own = new Map<number, Delivery[]>();
  for (const delivery of deliveries.value.values()) {
    const there = own.get(delivery.webhook_id);
    if (there) there.push(delivery);
    else own.set(delivery.webhook_id, [delivery]);
  }
  return own;
});

/** The deliveries of a webhook, newest first. */
export const findDeliveriesTo = (id: number): readonly Delivery[] =>
  (byWebhook.value.get(id) ?? []).toSorted((a, b) => b.id - a.id);

/** What is told of each webhook, by its id, once all deliveries are read; `svc webhooks why` tells the same. */
export const healthByWebhook = computed<ReadonlyMap<number, WebhookHealth>>(
  () =>
    new Map(
      (areDeliveriesRead.value ? (webhooks.value ?? []) : []).map((webhook) => {
        const facts = { deliveries: byWebhook.value.get(webhook.id) ?? [], faults: faults.value, at: formatTime };
        return [webhook.id, assessWebhook(webhook, facts)];
      }),
    ),
);

/** Whether somebody has something to do there. One that nothing was sent to yet says so in its track. */
export const needsAttention = ({ failing, untouched, unsent }: WebhookHealth): boolean =>
  (failing && !untouched) || unsent.length > 0;

/** How many webhooks have a card on the timeline. */
export const attentionCount = computed(() => [...healthByWebhook.value.values()].filter(needsAttention).length);

/** The same of those that were deleted, of which deliveries are kept. */
export const healthOfDeleted = computed<ReadonlyMap<number, WebhookHealth>>(() => {
  const there = new Set((webhooks.value ?? []).map(({ id }) => id));
  return new Map(
    [...byWebhook.value].flatMap(([id, own]) => (there.has(id) ? [] : [[id, assessDeletedWebhook(own, formatTime)]])),
  );
});
