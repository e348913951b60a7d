import * as z from "zod";
import { activities } from "../../src/api/activities.ts";
import { dictionary } from "../../src/api/shapes.ts";
import { formatDeliveryStatus } from "../../src/api/webhook-health/attempts.ts";
import { deliveryOutcomes } from "../../src/api/webhook-retries.ts";
import type { Clock } from "../../src/base/clock.ts";
import { hash } from "../../src/base/hmac.ts";
import { getWebhookForm, type WebhookJsonForm, writeJson } from "../../src/base/json.ts";
import type { AppliedFault } from "../faults/faults.ts";
import { type CauseRow, defineNumberedRows, defineRows, storedDeadline, storedTime, type View } from "../store/port.ts";

/** One emitted activity. The event is serialized once, and all its deliveries refer to these bytes. */
export const WebhookEvent = z.strictObject({
  id: z.int(),
  workspace_id: z.int(),
  activity: z.enum(activities),
  /** Null for an activity of a counterparty that has no contract yet. */
  contract_id: z.int().nullable(),
  /** Virtual milliseconds. */
  at: storedTime(z.int()),
  body: z.string(),
  /** Headers with the signature of an event that another program sent. Otherwise the webhook determines them. */
  headers: dictionary(z.string()).optional(),
  /** Virtual milliseconds. Null for an event with webhooks, which is deleted with its last delivery. */
  keep_until: z.int().nullable(),
  /** ID of the cause. Null if there is no cause. */
  cause: z.string().nullable(),
});
export type WebhookEvent = z.infer<typeof WebhookEvent>;

export const webhookEvents = defineNumberedRows("webhook_events", "webhook_event", WebhookEvent, {
  contract: (row) => row.contract_id ?? undefined,
  activity: (row) => row.activity,
  keep_until: (row) => row.keep_until ?? undefined,
  cause: (row) => row.cause ?? undefined,
});

/** Returns the body of an event. The body of another program's event is never reformatted. */
export function formatEventBody(
  event: Pick<WebhookEvent, "id" | "body" | "headers"> | undefined,
  form: WebhookJsonForm,
) {
  if (event === undefined) return "";
  return event.headers === undefined ? writeJson(event.body, getWebhookForm(form, event.id)) : event.body;
}

export const DeliveryOutcome = z.enum(deliveryOutcomes);
export type DeliveryOutcome = z.infer<typeof DeliveryOutcome>;

/** A scripted fault with its effect and its ID. Null if no fault was applied. */
const AttemptFault = z.strictObject({ effect: z.string(), cause: z.string().nullable() });
export type AttemptFault = z.infer<typeof AttemptFault>;

export const toAttemptFault = ({ effect, cause }: AppliedFault): AttemptFault => ({ effect, cause: cause?.id ?? null });

/** Maximum number of attempts per delivery, because all attempts are listed. */
const maxAttempts = 100_000;

/** Delivery of one activity to one webhook. */
export const Delivery = z.strictObject({
  id: z.int(),
  event_id: z.int(),
  webhook_id: z.int(),
  workspace_id: z.int(),
  activity: z.enum(activities),
  contract_id: z.int().nullable(),
  /** Purpose of a delivery by another program, which has no schedule. Undefined for all other deliveries. */
  label: z.string().optional(),
  /** ID of the entry in the schedule, which is the same for all retries. */
  entry_id: z.int(),
  outcome: DeliveryOutcome,
  /** Number of attempts, including resends. */
  attempts: z.int().refine((count) => count >= 0 && count <= maxAttempts, "Not a number of attempts"),
  /** Number of failed scheduled attempts, without resends. It determines the next delay. */
  failures: z.int(),
  /** Virtual milliseconds. */
  next_attempt_at: storedDeadline(z.int()).nullable(),
  /** Fault that postpones the next attempt. Null if the attempt is not postponed. */
  postponement: AttemptFault.nullable(),
  created_at: storedTime(z.int()),
  /** Virtual milliseconds. Null while the delivery is not final (DECISIONS.md, C21). */
  keep_until: z.int().nullable(),
});
export type Delivery = z.infer<typeof Delivery>;

/** There is no index by workspace and activity, because the index would slow down each delivery. */
export const deliveries = defineNumberedRows(
  "webhook_deliveries",
  "delivery",
  Delivery,
  {
    webhook: (row) => row.webhook_id,
    contract: (row) => row.contract_id ?? undefined,
    outcome: (row) => row.outcome,
    event: (row) => row.event_id,
    keep_until: (row) => row.keep_until ?? undefined,
  },
  { migrate: [({ put_off: postponement, ...row }) => ({ ...row, postponement })] },
);

/** Returns the status of a delivery in words. Its webhook is undefined if it is deleted. */
export const getStatusText = (
  { outcome, next_attempt_at, attempts }: Delivery,
  webhook: { readonly status: string } | undefined,
): string => formatDeliveryStatus({ outcome, next_attempt_at, webhook_status: webhook?.status ?? "DELETED" }, attempts);

/** Each attempt has its own row, so that a retry does not write the previous attempts again. */
export const DeliveryAttempt = z.strictObject({
  delivery_id: z.int(),
  /** Number of the attempt, from 1. */
  number: z.int(),
  resend: z.boolean(),
  /** Number among the scheduled attempts, from 1. Null for a resend. */
  scheduled_number: z.int().nullable(),
  /** Virtual milliseconds. */
  planned_at: storedDeadline(z.int()),
  at: storedTime(z.int()),
  /** Wall-clock milliseconds, or virtual milliseconds under --deterministic. */
  wall_at: storedTime(z.int()),
  /** ID of the cause: the cause of the event, or the request for a resend. Null if there is no cause. */
  cause: z.string().nullable(),
  /** ID of the clock advance that made the attempt due. Null if the clock was not advanced. */
  moved_by: z.string().nullable(),
  /** Applied fault. Null if no fault was applied. */
  fault: AttemptFault.nullable(),
  url: z.string(),
  /** Status of the response. Null if there was no response. */
  status: z.int().nullable(),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  /** Wall-clock milliseconds, or 0 under --deterministic. */
  duration_ms: z.number(),
  /** First 64 KiB of the response as UTF-8. Null if there was no response. */
  response_body: z.string().nullable(),
  /** Location of a redirect. Undefined if the response was no redirect or had none. */
  location: z.string().optional(),
});
export type DeliveryAttempt = z.infer<typeof DeliveryAttempt>;

export const attempts = defineRows({
  name: "webhook_attempts",
  schema: DeliveryAttempt,
  // The third version added only an optional field.
  migrate: [(row) => ({ ...row, scheduled_number: row.resend ? null : row.number }), (row) => row],
  key: (row) => toAttemptKey(row.delivery_id, row.number),
  indexes: {
    /** The index contains only resends, because the delivery determines the cause of other attempts. */
    cause: (row) => (row.resend ? (row.cause ?? undefined) : undefined),
    moved_by: (row) => row.moved_by ?? undefined,
  },
});

const toAttemptKey = (deliveryId: number, number: number): string => `${deliveryId}/${number}`;

export const listAttemptKeys = ({ id, attempts }: Delivery): string[] =>
  Array.from({ length: attempts }, (_, index) => toAttemptKey(id, index + 1));

export const listAttempts = (view: View, delivery: Delivery): DeliveryAttempt[] =>
  listAttemptKeys(delivery).flatMap((key) => view.get(attempts, key) ?? []);

/** Returns the name of an event in traces. The name is the ID of a cause, and span IDs are derived from it. */
export const toEventName = (id: number): string => `event:${id}`;
export const toDeliveryName = (id: number): string => `delivery:${id}`;
export const toAttemptName = (deliveryId: number, number: number): string => `attempt:${deliveryId}.${number}`;

/**
 * Returns the name from which the span of an attempt derives. It is known before the attempt is sent, unlike the number
 * of the attempt, because a resend can end during a scheduled attempt.
 */
export const toAttemptSpanName = (deliveryId: number, scheduledNumber: number | null, cause: string | null): string =>
  scheduledNumber === null ? `resend:${deliveryId}:${cause}` : toAttemptName(deliveryId, scheduledNumber);

/** Returns the trace of the cause, or a derived trace if the cause is no longer stored. */
export const getEventTrace = (event: Pick<WebhookEvent, "id"> | undefined, cause: CauseRow | undefined): string =>
  cause?.trace ?? hash("sha256", toEventName(event?.id ?? 0)).toString("hex", 0, 16);

/** Observations of how the real service sends webhooks. */
export interface WebhookObserver {
  /** Returns whether the service sends no webhook for the activity. */
  isSilent(activity: string): boolean;
  amendBody(activity: string, body: string): string;
  /** Returns the headers of a delivery, changed to match the observations. The signature is not included. */
  amendHeaders(activity: string, headers: Readonly<Record<string, string>>): Record<string, string>;
}

/** Observers by the clock of an emulator, which is available wherever an event is emitted. */
const observers = new WeakMap<Clock, WebhookObserver>();

/** Sets the observations for the webhooks of the emulator that has this clock. */
export const observeWebhooks = (clock: Clock, observer: WebhookObserver): void => void observers.set(clock, observer);

export const getWebhookObserver = (clock: Clock): WebhookObserver | undefined => observers.get(clock);
