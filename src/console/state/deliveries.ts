import { computed, signal } from "@preact/signals";
import { isUndelivered, isToBeSkipped as willBeSkipped } from "../../api/webhook-health/attempts.ts";
import type { Fault } from "../../api/webhook-health/causes.ts";
import { assessDeletedWebhook, assessWebhook, type WebhookHealth } from "../../api/webhook-health/health.ts";
import { callOperation } from "../api/call.ts";
import type { OperationResult } from "../api/operations.ts";
import { formatTime } from "../format.ts";

export type Delivery = OperationResult<"deliveries.list">["items"][number];
export type Attempt = Delivery["attempts"][number];
export type Webhook = OperationResult<"emulator-webhooks.list">[number];

/** All that are read, by their number. */
export const deliveries = signal<ReadonlyMap<number, Delivery>>(new Map());
/** Number of deliveries of the emulator; undefined until the first response. */
export const totalDeliveries = signal<number | undefined>(undefined);
export const webhooks = signal<readonly Webhook[] | undefined>(undefined);
/** Whether all that are held were read once: before that, one that is not there may still come. */
export const areDeliveriesRead = signal(false);

export const newestDeliveries = computed(() => [...deliveries.value.values()].sort((a, b) => b.id - a.id));

/** Waiting deliveries, the next one first. */
export const plannedDeliveries = computed(() =>
  newestDeliveries.value
    .filter(({ next_attempt_at: next }) => next !== null)
    .sort((a, b) => a.next_attempt_at!.localeCompare(b.next_attempt_at!) || a.id - b.id),
);

export const findWebhook = (id: number): Webhook | undefined => webhooks.value?.find((one) => one.id === id);

/** Its webhook, as it was last read; if it does not exist, the delivery's copy. */
export const getWebhookStatus = ({ webhook_id, webhook_status }: Delivery): Delivery["webhook_status"] =>
  findWebhook(webhook_id)?.status ?? webhook_status;

const withCurrentStatus = (delivery: Delivery) => ({ ...delivery, webhook_status: getWebhookStatus(delivery) });

export const isToBeSkipped = (delivery: Delivery): boolean => willBeSkipped(withCurrentStatus(delivery));

/** It did not arrive, and is not tried again by itself. */
export const isLost = (delivery: Delivery): boolean => isUndelivered(withCurrentStatus(delivery));

const page = 500;
/** More than this many are not held by a page; the list says so. */
export const maxHeldDeliveries = 10_000;

export const readWebhooks = async (): Promise<void> => {
  webhooks.value = await callOperation("emulator-webhooks.list");
};

let reading = 0;

/** Reads the webhooks and all deliveries, the newest first; the view grows as they come. */
export async function readDeliveries(): Promise<void> {
  reading += 1;
  const mine = reading;
  let found = new Map<number, Delivery>();
  const [, first] = await Promise.all([readWebhooks(), callOperation("deliveries.list", { query: { limit: page } })]);
  for (let { items, total: all } = first; mine === reading; ) {
    found = new Map([...found, ...items.map((item) => [item.id, item] as const)]);
    deliveries.value = found;
    totalDeliveries.value = all;
    if (items.length < page || found.size >= Math.min(all, maxHeldDeliveries)) {
      areDeliveriesRead.value = true;
      return;
    }
    ({ items, total: all } = await callOperation("deliveries.list", { query: { limit: page, offset: found.size } }));
    // New ones meanwhile are in the signal alone.
    found = new Map([...found, ...deliveries.value]);
  }
}

/** Adds deliveries from events. */
export function mergeDeliveries(changed: readonly Delivery[]): void {
  const all = new Map(deliveries.value);
  for (const delivery of changed) {
    if (!all.has(delivery.id)) totalDeliveries.value = (totalDeliveries.value ?? 0) + 1;
    all.set(delivery.id, delivery);
  }
  deliveries.value = all;
}

/** The scripted trouble there is. */
export const faults = signal<readonly Fault[]>([]);

export const readFaults = async (): Promise<void> => {
  faults.value = await callOperation("faults.list");
};

const deliveriesByWebhook = computed(() => {
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
  (deliveriesByWebhook.value.get(id) ?? []).toSorted((a, b) => b.id - a.id);

/** Findings about each webhook, by its id, once all deliveries are read; `svc webhooks why` shows the same. */
export const healthByWebhook = computed<ReadonlyMap<number, WebhookHealth>>(
  () =>
    new Map(
      (areDeliveriesRead.value ? (webhooks.value ?? []) : []).map((webhook) => {
        const facts = {
          deliveries: deliveriesByWebhook.value.get(webhook.id) ?? [],
          faults: faults.value,
          formatTime,
        };
        return [webhook.id, assessWebhook(webhook, facts)];
      }),
    ),
);

/** Whether the user has something to do there. A webhook without deliveries shows that in its track. */
export const needsAttention = ({ failing, untouched, unsent }: WebhookHealth): boolean =>
  (failing && !untouched) || unsent.length > 0;

/** How many webhooks have a card on the timeline. */
export const attentionCount = computed(() => [...healthByWebhook.value.values()].filter(needsAttention).length);

/** The same of those that were deleted, of which deliveries are stored. */
export const healthOfDeleted = computed<ReadonlyMap<number, WebhookHealth>>(() => {
  const there = new Set((webhooks.value ?? []).map(({ id }) => id));
  return new Map(
    [...deliveriesByWebhook.value].flatMap(([id, own]) =>
      there.has(id) ? [] : [[id, assessDeletedWebhook(own, formatTime)]],
    ),
  );
});
