import * as z from "zod";
import { activities } from "../../src/api/activities.ts";
import { deliveryOutcomes } from "../../src/api/delivery-outcomes.ts";
import { dictionary } from "../../src/api/shapes.ts";
import type { Clock } from "../../src/base/clock.ts";
import { hash } from "../../src/base/hmac.ts";
import { getWebhookForm, type WebhookJsonForm, writeJson } from "../../src/base/json.ts";
import type { AppliedFault } from "../faults/faults.ts";
import type { CauseRow } from "../store/cause.ts";
import { defineRows } from "../store/port.ts";
import { storedDeadline, storedTime } from "../store/stored-time.ts";

/** One emitted activity. It is serialized once, and all its deliveries refer to these bytes. */
export const WebhookEvent = z.strictObject({
  id: z.int(),
  workspace_id: z.int(),
  activity: z.enum(activities),
  /** Null for an activity of a counterparty that has no contract yet. */
  contract_id: z.int().nullable(),
  /** Virtual milliseconds. */
  at: storedTime(z.int()),
  body: z.string(),
  /**
   * The headers, signature included, of an event that another program sent. Otherwise the headers come from the
   * webhook.
   */
  headers: dictionary(z.string()).optional(),
  /** Time after which an event without webhooks may be dropped. Other events are dropped with their last delivery. */
  keep_until: z.int().nullable(),
  /** Id of its cause. Null if it has none. */
  cause: z.string().nullable(),
});
export type WebhookEvent = z.infer<typeof WebhookEvent>;

export const webhookEvents = defineRows<WebhookEvent, "contract" | "activity" | "keep_until" | "cause">({
  name: "webhook_events",
  schema: WebhookEvent,
  key: (row) => row.id,
  numbers: { webhook_event: (row) => row.id },
  indexes: {
    contract: (row) => row.contract_id ?? undefined,
    activity: (row) => row.activity,
    keep_until: (row) => row.keep_until ?? undefined,
    cause: (row) => row.cause ?? undefined,
  },
});

/** Returns the body of an event. The body of an event from another program is never reformatted. */
export function formatEventBody(
  event: Pick<WebhookEvent, "id" | "body" | "headers"> | undefined,
  form: WebhookJsonForm,
): string {
  if (event === undefined) return "";
  return event.headers === undefined ? writeJson(event.body, getWebhookForm(form, event.id)) : event.body;
}

export const Outcome = z.enum(deliveryOutcomes);
export type Outcome = z.infer<typeof Outcome>;

/** A scripted fault: its effect and its id. Null if there was none. */
const AttemptFault = z.strictObject({ effect: z.string(), cause: z.string().nullable() });
export type AttemptFault = z.infer<typeof AttemptFault>;

export const toAttemptFault = ({ effect, cause }: AppliedFault): AttemptFault => ({ effect, cause: cause?.id ?? null });

/** All attempts are listed. */
const maxAttempts = 100_000;

/** The delivery of one activity to one webhook. */
export const Delivery = z.strictObject({
  id: z.int(),
  event_id: z.int(),
  webhook_id: z.int(),
  workspace_id: z.int(),
  activity: z.enum(activities),
  contract_id: z.int().nullable(),
  /** The purpose of a delivery by another program, which has no schedule. Omitted for all others. */
  label: z.string().optional(),
  /** Its entry in the schedule, which all retries keep. */
  entry_id: z.int(),
  outcome: Outcome,
  /** The number of attempts, including resends. */
  attempts: z.int().refine((count) => count >= 0 && count <= maxAttempts, "Not a number of attempts"),
  /** Failed scheduled attempts, without resends. They determine the next delay. */
  failures: z.int(),
  /** Virtual milliseconds, as are the following. */
  next_attempt_at: storedDeadline(z.int()).nullable(),
  /** The reason why the next attempt is postponed. Null if it is on time. */
  put_off: AttemptFault.nullable(),
  created_at: storedTime(z.int()),
  /** When the record may be dropped. Null while it is not final (DECISIONS.md, C21). */
  keep_until: z.int().nullable(),
});
export type Delivery = z.infer<typeof Delivery>;

/** No index by workspace and activity: there are few, and each delivery would pay for it. */
export const deliveries = defineRows<Delivery, "webhook" | "contract" | "outcome" | "event" | "keep_until">({
  name: "webhook_deliveries",
  schema: Delivery,
  key: (row) => row.id,
  numbers: { delivery: (row) => row.id },
  indexes: {
    webhook: (row) => row.webhook_id,
    contract: (row) => row.contract_id ?? undefined,
    outcome: (row) => row.outcome,
    event: (row) => row.event_id,
    keep_until: (row) => row.keep_until ?? undefined,
  },
});

/** One POST and its result. It has its own row, so that a retry does not write the earlier attempts again. */
export const Attempt = z.strictObject({
  delivery_id: z.int(),
  /** From 1. */
  number: z.int(),
  resend: z.boolean(),
  /** Virtual milliseconds. */
  planned_at: storedDeadline(z.int()),
  at: storedTime(z.int()),
  /** Wall-clock milliseconds, or virtual ones under --deterministic. */
  wall_at: storedTime(z.int()),
  /** Id of its cause: that of the event, or the request for a resend. Null if it has none. */
  cause: z.string().nullable(),
  /** Id of the clock advance that made it due. Null if the clock was not advanced. */
  moved_by: z.string().nullable(),
  /** The applied fault. Null if there was none. */
  fault: AttemptFault.nullable(),
  url: z.string(),
  /** Status of the response. Null if there was none. */
  status: z.int().nullable(),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  /** Wall-clock time; 0 under --deterministic. */
  duration_ms: z.number(),
  /** The first 64 kB of the response as UTF-8. Null if there was none. */
  response_body: z.string().nullable(),
});
export type Attempt = z.infer<typeof Attempt>;

export const attempts = defineRows<Attempt, "asked_by" | "moved_by">({
  name: "webhook_attempts",
  schema: Attempt,
  key: (row) => toAttemptKey(row.delivery_id, row.number),
  indexes: {
    /** Only for resends, because the cause of other attempts follows from their delivery. */
    asked_by: (row) => (row.resend ? (row.cause ?? undefined) : undefined),
    moved_by: (row) => row.moved_by ?? undefined,
  },
});

const toAttemptKey = (deliveryId: number, number: number): string => `${deliveryId}/${number}`;

/** Lists the keys of the attempts of a delivery, in order. */
export const listAttemptKeys = ({ id, attempts }: Delivery): string[] =>
  Array.from({ length: attempts }, (_, before) => toAttemptKey(id, before + 1));

/** Names in traces. The name of a cause is its id, and a span id is derived from its name. */
export const toEventName = (id: number): string => `event:${id}`;
export const toDeliveryName = (id: number): string => `delivery:${id}`;
export const toAttemptName = (deliveryId: number, number: number): string => `attempt:${deliveryId}.${number}`;

/**
 * The W3C trace of an event and its deliveries: the trace of its cause, or a new one if the cause is no longer stored.
 */
export const traceOfEvent = (event: Pick<WebhookEvent, "id"> | undefined, cause: CauseRow | undefined): string =>
  cause?.trace ?? hash("sha256", toEventName(event?.id ?? 0)).toString("hex", 0, 16);

/** How the recorded service sends webhooks. */
interface WebhookObserver {
  /** Whether the service sends no webhook for the activity. */
  isSilent(activity: string): boolean;
  amendBody(activity: string, body: string): string;
  /** Amends the headers of a delivery, without its signature. */
  amendHeaders(activity: string, headers: Readonly<Record<string, string>>): Record<string, string>;
}

/** By the clock of an emulator, which is available wherever an event is emitted. */
const observers = new WeakMap<Clock, WebhookObserver>();

/** Makes the webhooks of the emulator with this clock follow the observations. */
export const observeWebhooks = (clock: Clock, observer: WebhookObserver): void => void observers.set(clock, observer);

export const getWebhookObserver = (clock: Clock): WebhookObserver | undefined => observers.get(clock);
