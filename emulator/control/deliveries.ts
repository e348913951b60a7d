import type { Fail } from "../../src/api/failures.ts";
import { isoMillis } from "../../src/base/clock.ts";
import type { Store } from "../store/port.ts";
import { type Attempt, type Delivery, deliveries } from "../webhooks/deliveries.ts";
import { dropExpired, listDeliveries, resend, showDelivery } from "../webhooks/log.ts";
import { subscriptions } from "../webhooks/subscriptions.ts";
import { type DeliveryEvent, deliveryEvents } from "./delivery-events.ts";
import type { ControlHandlers } from "./world.ts";

export const deliveryHandlers = {
  "deliveries.list": async ({ query }, { store, clock }) => {
    await dropExpired(store, clock.now());
    const { webhook, activity, contract, outcome, limit, offset } = query;
    const contract_id = contractNumber(contract);
    const { items, total } = await store.read((view) =>
      listDeliveries(view, { webhook_id: webhook, activity, contract_id, outcome }, { limit, offset }),
    );
    return {
      items: items.map((logged) => ({
        ...deliveryRecord(logged.delivery),
        attempts: logged.attempts.map(attemptRecord),
      })),
      total,
    };
  },

  "deliveries.watch": async ({ query }, { store, clock, request }) =>
    watched(await deliveryEvents(store, clock, request.signal), query),

  "deliveries.show": async ({ params }, { store, clock, fail }) => {
    await dropExpired(store, clock.now());
    return wholeDelivery(store, params.id, fail);
  },

  "deliveries.resend": async ({ params: { id } }, { store, clock, runner, fail }) => {
    const made = await store.transaction("deliveries.resend", async (tx) => {
      const delivery = (await tx.get(deliveries, String(id))) ?? fail("no-such-delivery", { id });
      const { webhook_id } = delivery;
      if (!(await tx.get(subscriptions, String(webhook_id)))) fail("subscription-deleted", { webhook_id });
      return { outcome: runner.outcomeOf(resend(tx, delivery, clock.now()).id) };
    });
    await made.outcome;
    return wholeDelivery(store, id, fail);
  },
} satisfies ControlHandlers;

interface Filters {
  readonly webhook?: number | undefined;
  readonly activity?: string | undefined;
  readonly contract?: string | undefined;
  readonly outcome?: string | undefined;
}

async function* watched(events: AsyncIterable<DeliveryEvent>, filters: Filters) {
  const { webhook, activity, contract, outcome } = filters;
  const contract_id = contractNumber(contract);
  for await (const { delivery, attempt, at } of events) {
    if (webhook !== undefined && delivery.webhook_id !== webhook) continue;
    if (activity !== undefined && delivery.activity !== activity) continue;
    if (contract_id !== undefined && delivery.contract_id !== contract_id) continue;
    if (outcome !== undefined && delivery.outcome !== outcome) continue;
    yield {
      ...deliveryRecord(delivery),
      at: isoMillis(at),
      attempt: attempt === undefined ? null : attemptRecord(attempt),
    };
  }
}

/** `T-12` and `12` name the same contract (DECISIONS.md, C12). */
const contractNumber = (id: string | undefined): number | undefined =>
  id === undefined ? undefined : Number(id.replace(/^[TH]-/, ""));

async function wholeDelivery(store: Store, id: number, fail: Fail<"no-such-delivery">) {
  const found = await store.read((view) => showDelivery(view, id));
  const { delivery, requestBody, attempts } = found ?? fail("no-such-delivery", { id });
  return {
    ...deliveryRecord(delivery),
    request_body: requestBody,
    attempts: attempts.map((attempt) => ({
      ...attemptRecord(attempt),
      url: attempt.url,
      response_body: attempt.response_body,
    })),
  };
}

const deliveryRecord = ({ id, webhook_id, workspace_id, activity, contract_id, outcome, ...rest }: Delivery) => ({
  id,
  webhook_id,
  workspace_id,
  activity,
  contract_id,
  outcome,
  next_attempt_at: rest.next_attempt_at === null ? null : isoMillis(rest.next_attempt_at),
  created_at: isoMillis(rest.created_at),
});

const attemptRecord = ({ number, resend, planned_at, at, status, error, duration_ms }: Attempt) => ({
  number,
  resend,
  planned_at: isoMillis(planned_at),
  at: isoMillis(at),
  status,
  error,
  duration_ms,
});
