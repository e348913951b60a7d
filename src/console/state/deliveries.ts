import { computed, signal } from "@preact/signals";
import { isUndelivered, isToBeSkipped as willBeSkipped } from "../../api/webhook-health/attempts.ts";
import type { Fault } from "../../api/webhook-health/causes.ts";
import { assessDeletedWebhook, assessWebhook, type WebhookHealth } from "../../api/webhook-health/health.ts";
import { createLatestReader } from "../../base/concurrency.ts";
import { groupBy } from "../../base/object.ts";
import { callOperation, connection } from "../api/call.ts";
import type { OperationResult } from "../api/operations.ts";
import { formatMoment, nowSeconds } from "./clock.ts";

export type Delivery = OperationResult<"deliveries.list">["items"][number];
export type Webhook = OperationResult<"emulator-webhooks.list">[number];

export const deliveries = signal<ReadonlyMap<number, Delivery>>(new Map());
/** Number of deliveries in the emulator; undefined until the first response. */
export const totalDeliveries = signal<number | undefined>(undefined);
export const webhooks = signal<readonly Webhook[] | undefined>(undefined);
/** Whether all deliveries were loaded once. Until then, a missing delivery may still arrive. */
export const areDeliveriesRead = signal(false);

/** Whether the emulator has older deliveries than those loaded. */
export const hasOlderDeliveries = computed(() => (totalDeliveries.value ?? 0) > deliveries.value.size);

/** Marks a count of deliveries as a minimum, if older ones were not loaded. */
export const formatDeliveryCount = (count: string): string => (hasOlderDeliveries.value ? `at least ${count}` : count);

export const newestDeliveries = computed(() => [...deliveries.value.values()].sort((a, b) => b.id - a.id));

/** Waiting deliveries, the next one first. */
export const plannedDeliveries = computed(() =>
  newestDeliveries.value
    .filter(({ next_attempt_at: next }) => next !== null)
    .sort((a, b) => a.next_attempt_at!.localeCompare(b.next_attempt_at!) || a.id - b.id),
);

export const findWebhook = (id: number): Webhook | undefined => webhooks.value?.find((one) => one.id === id);

/** Returns a delivery with the status of its webhook as last loaded, unless that does not exist. */
export const withCurrentStatus = (delivery: Delivery): Delivery => ({
  ...delivery,
  webhook_status: findWebhook(delivery.webhook_id)?.status ?? delivery.webhook_status,
});

export const isToBeSkipped = (delivery: Delivery): boolean => willBeSkipped(withCurrentStatus(delivery));

/** Reports whether a delivery did not arrive and will not be retried. */
export const isLost = (delivery: Delivery): boolean => isUndelivered(withCurrentStatus(delivery));

/** Reports whether a delivery has not arrived although it was due. */
export const isOverdue = ({ outcome }: Delivery): boolean => outcome !== "delivered" && outcome !== "waiting";

const page = 500;
/** Maximum number of deliveries on a page. The list shows a note if there are more. */
export const maxHeldDeliveries = 10_000;

let webhooksRead: Promise<void> | undefined;
let nextWebhooksRead: Promise<void> | undefined;

/** Loads the webhooks, one request at a time. Calls during a request share the next one. */
export function readWebhooks(): Promise<void> {
  nextWebhooksRead ??= loadWebhooksAfter(webhooksRead);
  return nextWebhooksRead;
}

async function loadWebhooksAfter(previous: Promise<void> | undefined): Promise<void> {
  await previous?.catch(() => undefined);
  webhooksRead = nextWebhooksRead;
  nextWebhooksRead = undefined;
  webhooks.value = await callOperation("emulator-webhooks.list");
}

/** A change of a delivery, with the attempt that ended, but without earlier attempts. */
export type DeliveryChange = Omit<Delivery, "attempts"> & { readonly attempt: Delivery["attempts"][number] | null };

let reading = 0;
/** Changes since the reading began. Its responses may be older. */
let changedSince: DeliveryChange[] | undefined;

/** Loads the webhooks and all deliveries, newest first. The view grows as they arrive. */
export async function readDeliveries(): Promise<void> {
  reading += 1;
  const currentReading = reading;
  const found = new Map<number, Delivery>();
  const changes: DeliveryChange[] = [];
  changedSince = changes;
  let offset = 0;
  const [, first] = await Promise.all([readWebhooks(), callOperation("deliveries.list", { query: { limit: page } })]);
  for (let { items, total: all } = first; currentReading === reading; ) {
    for (const item of items) found.set(item.id, item);
    offset += items.length;
    const isComplete = items.length < page || found.size >= Math.min(all, maxHeldDeliveries);
    // A list that is read at intervals does not shrink each time.
    if (isComplete || connection.value !== "polling") {
      deliveries.value = applyChanges(found, changes);
      totalDeliveries.value = Math.max(all, deliveries.value.size);
    }
    if (isComplete) {
      changedSince = undefined;
      areDeliveriesRead.value = true;
      return;
    }
    // Only the read rows count: an event may have reported a row of a later page.
    ({ items, total: all } = await callOperation("deliveries.list", { query: { limit: page, offset } }));
  }
}

export function mergeDeliveries(changes: readonly DeliveryChange[]): void {
  changedSince?.push(...changes);
  const previous = deliveries.value;
  deliveries.value = applyChanges(previous, changes);
  totalDeliveries.value = (totalDeliveries.value ?? 0) + deliveries.value.size - previous.size;
}

/** Adds attempts to deliveries, each only once. */
function applyChanges(known: ReadonlyMap<number, Delivery>, changes: readonly DeliveryChange[]) {
  const all = new Map(known);
  for (const { attempt, ...record } of changes) {
    const attempts = all.get(record.id)?.attempts ?? [];
    const isNew = attempt !== null && attempts.every(({ number }) => number !== attempt.number);
    all.set(record.id, { ...record, attempts: isNew ? [...attempts, attempt] : attempts });
  }
  return all;
}

export const faults = signal<readonly Fault[]>([]);

export const { set: setFaults, read: readFaults } = createLatestReader<readonly Fault[]>(
  () => callOperation("faults.list"),
  (read) => {
    faults.value = read;
  },
);

const deliveriesByWebhook = computed(() => groupBy(deliveries.value.values(), ({ webhook_id }) => webhook_id));

/** Lists the deliveries of a webhook, newest first. */
export const findDeliveriesTo = (id: number): readonly Delivery[] =>
  (deliveriesByWebhook.value.get(id) ?? []).toSorted((a, b) => b.id - a.id);

const hourMs = 3_600_000;
/** The findings depend on the time by days only, and are computed from all deliveries. */
const nextHour = computed(() => Math.ceil(nowSeconds.value / hourMs) * hourMs);

/** Findings about each webhook, by ID, once all deliveries are loaded. `svc webhooks why` shows the same. */
export const healthByWebhook = computed<ReadonlyMap<number, WebhookHealth>>(
  () =>
    new Map(
      (areDeliveriesRead.value ? (webhooks.value ?? []) : []).map((webhook) => {
        const facts = {
          deliveries: deliveriesByWebhook.value.get(webhook.id) ?? [],
          isPartial: hasOlderDeliveries.value,
          faults: faults.value,
          formatTime: formatMoment,
          now: nextHour.value,
        };
        return [webhook.id, assessWebhook(webhook, facts)];
      }),
    ),
);

/** Reports whether the user should act on it. The track of a webhook without deliveries shows this itself. */
export const needsAttention = ({ failing, isUntouched, unsent }: WebhookHealth): boolean =>
  (failing && !isUntouched) || unsent.length > 0;

/** Number of webhooks with a card on the timeline. */
export const attentionCount = computed(() => [...healthByWebhook.value.values()].filter(needsAttention).length);

/** Findings about deleted webhooks whose deliveries are stored. */
export const healthOfDeleted = computed<ReadonlyMap<number, WebhookHealth>>(() => {
  const ids = new Set((webhooks.value ?? []).map(({ id }) => id));
  return new Map(
    [...deliveriesByWebhook.value].flatMap(([id, group]) =>
      ids.has(id) ? [] : [[id, assessDeletedWebhook(group, formatMoment)]],
    ),
  );
});
