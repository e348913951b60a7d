import type { Fail } from "../../src/api/failures.ts";
import { hasSucceeded, isAwaitingRetry, isUndelivered } from "../../src/api/webhook-health/attempts.ts";
import { toIsoMillis } from "../../src/base/clock.ts";
import { type EmulatorSettings, getReceiverRules } from "../domain/settings.ts";
import { workspaces } from "../domain/workspaces.ts";
import { findForbiddenUrlReason } from "../http/outgoing/receiver-rules.ts";
import type { View } from "../store/port.ts";
import { type Delivery, deliveries } from "../webhooks/deliveries.ts";
import { scheduleResend, showDelivery } from "../webhooks/log.ts";
import { getRetrySchedule } from "../webhooks/record.ts";
import { setWebhookEnabled, type Webhook, webhookRows } from "../webhooks/webhooks.ts";
import type { ControlContext, ControlHandlers } from "./context.ts";
import { toListRecord } from "./deliveries.ts";

export const controlWebhookHandlers = {
  "emulator-webhooks.list": (_, { store, settings }) => {
    const rows = store.list(webhookRows);
    return rows.map((webhook) => toWebhookRecord(store, webhook, settings));
  },

  "emulator-webhooks.enable": ({ params }, call) => switchWebhook(call, params.id, true),

  "emulator-webhooks.disable": ({ params }, call) => switchWebhook(call, params.id, false),

  "emulator-webhooks.resend": ({ params }, call) => resendAll(params.id, call),
} satisfies ControlHandlers;

type WebhookCall = Pick<ControlContext, "store" | "clock" | "runner" | "wall" | "settings"> & {
  readonly fail: Fail<"no-such-webhook">;
};

const switchWebhook = ({ store, clock, settings, fail }: WebhookCall, id: number, isEnabled: boolean) =>
  store.transaction(isEnabled ? "emulator-webhooks.enable" : "emulator-webhooks.disable", (tx) => {
    const row = setWebhookEnabled(tx, id, isEnabled, clock.now()) ?? fail("no-such-webhook", { id });
    return toWebhookRecord(tx, row, settings);
  });

function toWebhookRecord(
  view: View,
  { created_at, disabled, custom_headers, description: _, created_by: __, ...rest }: Webhook,
  settings: EmulatorSettings,
) {
  const owner = view.get(workspaces, rest.workspace_id);
  return {
    ...rest,
    workspace: owner?.name ?? "",
    custom_headers: Object.keys(custom_headers),
    disabled_at: disabled && toIsoMillis(disabled.at),
    disabled_by: disabled?.by ?? null,
    retry_schedule: [...getRetrySchedule(owner, settings)],
    forbidden: findForbiddenUrlReason(rest.url, getReceiverRules(settings))?.message ?? null,
    created_at: toIsoMillis(created_at),
  };
}

/** Limits of one request: deliveries, and wall-clock time after which no further one is resent. */
const maxResends = 100;
const maxResendMs = 20_000;

/** Resends deliveries, oldest first and one after another. It stops if the receiver is down. */
async function resendAll(id: number, { store, clock, runner, wall, settings, fail }: WebhookCall) {
  const listedWebhook = store.get(webhookRows, id) ?? fail("no-such-webhook", { id });
  const pendingDeliveries = store
    .list(deliveries, { by: "webhook", equals: id })
    .filter((row) => isToSend(row, listedWebhook, clock.now()))
    .sort(compareByAge);
  const startedAt = wall.monotonicNow();
  const resentDeliveries: Delivery[] = [];
  let completedCount = 0;
  for (const { id: number } of pendingDeliveries.slice(0, maxResends)) {
    if (wall.monotonicNow() - startedAt > maxResendMs) break;
    const resend = await store.transaction("emulator-webhooks.resend", (tx) => {
      const [delivery, webhook] = [tx.get(deliveries, number), tx.get(webhookRows, id)];
      // The schedule may have sent the delivery since it was listed.
      if (!delivery || (webhook && !isToSend(delivery, webhook, clock.now()))) return undefined;
      return { outcome: runner.waitForOutcome(scheduleResend(tx, delivery, clock.now()).id) };
    });
    if (!resend) {
      completedCount += 1;
      continue;
    }
    await resend.outcome;
    const resent = showDelivery(store, number);
    if (!resent) continue;
    resentDeliveries.push(resent.delivery);
    const lastAttempt = resent.attempts.at(-1);
    if (!lastAttempt?.resend || !hasSucceeded(lastAttempt)) break;
    completedCount += 1;
  }
  return {
    items: resentDeliveries.map((each) => toListRecord(store, each, settings)),
    remaining: pendingDeliveries.length - completedCount,
  };
}

/** Attempts that the schedule is sending or about to send are excluded. */
const isToSend = (row: Delivery, { status }: Webhook, now: number): boolean =>
  isUndelivered({ ...row, webhook_status: status }, now) || isAwaitingRetry(row, now);

const compareByAge = (a: Delivery, b: Delivery): number => a.created_at - b.created_at || a.id - b.id;
