import type { watchDeliveries as watchOperation } from "../../src/api/emulator/deliveries.ts";
import type { Fail } from "../../src/api/failures.ts";
import type { InputOf } from "../../src/api/operation.ts";
import { filterScheduled, hasSucceeded } from "../../src/api/webhook-health/attempts.ts";
import { getMaxAttempts, type RetrySchedule, skippedOutcomes } from "../../src/api/webhook-retries.ts";
import { toIsoMillis } from "../../src/base/clock.ts";
import { isOneOf } from "../../src/base/object.ts";
import { getDefaultScheme } from "../../src/schemes/webhook-schemes.ts";
import { readCompositeId } from "../cluster/contracts/rows.ts";
import type { EmulatorSettings } from "../domain/settings.ts";
import { workspaces } from "../domain/workspaces.ts";
import { streamItems } from "../http/event-stream.ts";
import { inTransaction } from "../http/handler.ts";
import { redactReceiverUrl } from "../http/request-log/redact.ts";
import type { RowChange, View } from "../store/port.ts";
import { matchesFilter } from "../store/rows.ts";
import {
  type AttemptFault,
  attempts,
  type Delivery,
  type DeliveryAttempt,
  deliveries,
  getStatusText,
  listAttempts,
} from "../webhooks/deliveries.ts";
import {
  deleteExpiredRecords,
  listDeliveries,
  recordForeignDelivery,
  scheduleResend,
  showDelivery,
} from "../webhooks/log.ts";
import { getRetrySchedule } from "../webhooks/record.ts";
import { webhookRows } from "../webhooks/webhooks.ts";
import { streamWhileAllowed } from "./access/credentials.ts";
import type { ControlContext, ControlHandlers } from "./context.ts";
import { readContractFilter } from "./contracts/contracts.ts";

export const deliveryHandlers = {
  "deliveries.list": async ({ query }, { store, clock, settings }) => {
    await deleteExpiredRecords(store, clock.now());
    const { rows, total } = listDeliveries(store, toFilter(store, query), query);
    return { items: rows.map((row) => toListRecord(store, row, settings)), total };
  },

  "deliveries.watch": ({ query }, context) =>
    streamWhileAllowed(context, (signal) => watchDeliveries(context, query, signal)),

  "deliveries.show": async ({ params }, { store, clock, settings, fail }) => {
    await deleteExpiredRecords(store, clock.now());
    return readDelivery(store, params.id, settings, fail);
  },

  "deliveries.record": inTransaction((tx, { body }, { clock, settings, fail }) => {
    const reject = () => fail("no-such-webhook", { id: body.webhook });
    const { id } = recordForeignDelivery(tx, tx.get(webhookRows, body.webhook) ?? reject(), body, clock.now());
    return readDelivery(tx, id, settings, reject);
  }),

  "deliveries.resend": async ({ params: { id } }, { store, clock, runner, settings, fail }) => {
    const resend = await store.transaction("deliveries.resend", (tx) => {
      const delivery = tx.get(deliveries, id) ?? fail("no-such-delivery", { id });
      const { webhook_id } = delivery;
      if (!tx.get(webhookRows, webhook_id)) fail("webhook-deleted", { webhook_id });
      return { outcome: runner.waitForOutcome(scheduleResend(tx, delivery, clock.now()).id) };
    });
    await resend.outcome;
    return readDelivery(store, id, settings, fail);
  },
} satisfies ControlHandlers;

type ScheduleSettings = Pick<EmulatorSettings, "retrySchedule">;

export function toListRecord(view: View, row: Delivery, settings: ScheduleSettings) {
  const attempts = listAttempts(view, row);
  return { ...toDeliveryRecord(view, row, settings, attempts), attempts: attempts.map(toAttemptRecord) };
}

type DeliveryQuery = InputOf<typeof watchOperation>["query"];

/** `T-12` and `12` name the same contract (DECISIONS.md, C12). */
const toFilter = (view: View, { webhook: webhook_id, activity, contract, outcome }: DeliveryQuery) => ({
  ...{ webhook_id, activity, outcome },
  contract_id: readContractFilter(view, contract),
});

function readDelivery(view: View, id: number, settings: EmulatorSettings, fail: Fail<"no-such-delivery">) {
  const { delivery, ...details } = showDelivery(view, id, settings.webhookJson) ?? fail("no-such-delivery", { id });
  return {
    ...toDeliveryRecord(view, delivery, settings, details.attempts),
    request_headers: details.headers ?? readHeaders(view, delivery, details.requestBody),
    request_body: details.requestBody,
    attempts: details.attempts.map((attempt) => ({
      ...toAttemptRecord(attempt),
      url: attempt.url,
      response_body: attempt.response_body,
    })),
  };
}

function readHeaders(view: View, { id, webhook_id, workspace_id, created_at: at }: Delivery, body: string) {
  const webhook = view.get(webhookRows, webhook_id);
  const workspace = view.get(workspaces, workspace_id);
  const customHeaders = Object.keys(webhook?.custom_headers ?? {}).map((name) => [name, ""]);
  return {
    ...Object.fromEntries(customHeaders),
    "content-type": "application/json",
    ...(workspace && getDefaultScheme().sign({ key: workspace.hmac_key, body, id, at })),
  };
}

/** Includes the status of the webhook, which decides whether the planned attempt is sent (DECISIONS.md, C18). */
export function toDeliveryRecord(
  view: View,
  row: Delivery,
  settings: ScheduleSettings,
  rowAttempts: readonly DeliveryAttempt[] = listAttempts(view, row),
) {
  const { id, webhook_id, workspace_id, activity, contract_id, label, outcome } = row;
  const webhook = view.get(webhookRows, webhook_id);
  const lastAttempt = rowAttempts.at(-1);
  return {
    ...{ id, webhook_id, workspace_id, activity, contract_id, outcome },
    ...(label !== undefined && { label }),
    composite_id: readCompositeId(view, contract_id),
    webhook_status: webhook?.status ?? ("DELETED" as const),
    status_text: getStatusText(row, webhook),
    last_response: lastAttempt ? formatLastResponse(lastAttempt) : null,
    next_attempt_at: row.next_attempt_at === null ? null : toIsoMillis(row.next_attempt_at),
    postponement: toAttemptFaultRecord(row.postponement),
    max_attempts: countMaxAttempts(row, rowAttempts, getRetrySchedule(view.get(workspaces, workspace_id), settings)),
    created_at: toIsoMillis(row.created_at),
  };
}

/** The schedule can have changed since the attempts, and the planned one is made in any case. */
function countMaxAttempts(
  { outcome, label, next_attempt_at }: Delivery,
  rowAttempts: readonly DeliveryAttempt[],
  retrySchedule: RetrySchedule,
): number {
  const scheduledCount = filterScheduled(rowAttempts).length;
  // A delivery by another program has no schedule.
  if (outcome === "failed" || label !== undefined) return scheduledCount;
  return Math.max(getMaxAttempts(retrySchedule), scheduledCount + (next_attempt_at === null ? 0 : 1));
}

/** Another program may have recorded neither a status nor an error. */
const formatLastResponse = ({ status, error }: DeliveryAttempt): string =>
  error?.code ?? (status === null ? "no response" : `status ${status}`);

export const toAttemptRecord = (row: DeliveryAttempt) => {
  const { number, resend, scheduled_number, status, error, duration_ms, location } = row;
  return {
    ...{ number, resend, scheduled_number, status, error, duration_ms },
    planned_at: toIsoMillis(row.planned_at),
    at: toIsoMillis(row.at),
    fault: toAttemptFaultRecord(row.fault),
    response: hasSucceeded({ status }) ? null : getFirstLine(row.response_body),
    ...(location !== undefined && { location: getFirstLine(redactReceiverUrl(location))! }),
  };
};

const toAttemptFaultRecord = (fault: AttemptFault | null) => fault && { effect: fault.effect, by: fault.cause };

const maxShownResponseLength = 200;

function getFirstLine(body: string | null): string | null {
  const line = (body ?? "")
    .slice(0, 4 * maxShownResponseLength)
    .replaceAll(/\s+/g, " ")
    .trim();
  return line.length > maxShownResponseLength ? `${line.slice(0, maxShownResponseLength)}…` : line || null;
}

/** Contains keys instead of rows, because a slow client should not hold the rows in memory. */
interface EventKey {
  readonly delivery: number;
  /** Undefined if the delivery ended without an attempt. */
  readonly attempt: string | undefined;
  /** Virtual milliseconds. */
  readonly at: number;
}

/** Yields every further attempt and skip, in order, until the signal is aborted. */
function watchDeliveries(
  { store, clock, settings }: Pick<ControlContext, "store" | "clock" | "settings">,
  query: DeliveryQuery,
  signal: AbortSignal,
) {
  let pending: EventKey[] = [];
  const watch = (notify: () => void) =>
    store.watch([deliveries, attempts], (changes) => {
      if (typeof changes === "string") return;
      for (const change of changes) {
        const key = toEventKey(change, clock.now());
        if (key) pending.push(key);
      }
      notify();
    });
  return streamItems(signal, watch, () => {
    const keys = pending;
    pending = [];
    return readEvents(store, keys, query, settings);
  });
}

function toEventKey({ collection, before, after }: RowChange, now: number): EventKey | undefined {
  if (collection === attempts.name && before === undefined) {
    const attempt = after as DeliveryAttempt;
    return { delivery: attempt.delivery_id, attempt: attempts.key(attempt), at: attempt.at };
  }
  if (collection !== deliveries.name || after === undefined) return undefined;
  const { id, outcome } = after as Delivery;
  const isSkip = isOneOf(skippedOutcomes, outcome) && (before as Delivery | undefined)?.outcome !== outcome;
  return isSkip ? { delivery: id, attempt: undefined, at: now } : undefined;
}

/** Skips deliveries that the caller cannot see, and deliveries that were removed meanwhile. */
function readEvents(view: View, keys: readonly EventKey[], query: DeliveryQuery, settings: ScheduleSettings) {
  const filter = toFilter(view, query);
  return keys.flatMap((key) => {
    const delivery = view.get(deliveries, key.delivery);
    const attempt = view.get(attempts, key.attempt);
    if (!delivery || (key.attempt !== undefined && !attempt) || !matchesFilter(delivery, filter)) return [];
    const record = toDeliveryRecord(view, delivery, settings);
    return [{ ...record, at: toIsoMillis(key.at), attempt: attempt ? toAttemptRecord(attempt) : null }];
  });
}
