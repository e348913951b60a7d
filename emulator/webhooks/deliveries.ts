import * as z from "zod";
import { activities } from "../../src/api/activities.ts";
import { deliveryOutcomes } from "../../src/api/delivery-outcomes.ts";
import { dictionary } from "../../src/api/shapes.ts";
import type { Clock } from "../../src/base/clock.ts";
import { hash } from "../../src/base/hmac.ts";
import { getWebhookForm, type WebhookJsonForm, writeJson } from "../../src/base/json.ts";
import type { AppliedFault } from "../faults/faults.ts";
import type { CauseRow } from "../store/cause.ts";
import { rows } from "../store/port.ts";
import { storedDeadline, storedTime } from "../store/stored-time.ts";

/** One emitted activity: serialized once, and every delivery of it refers to these bytes. */
export const WebhookEvent = z.strictObject({
  id: z.int(),
  workspace_id: z.int(),
  activity: z.enum(activities),
  /** Null: an activity of a counterparty that has no contract yet. */
  contract_id: z.int().nullable(),
  /** Virtual milliseconds. */
  at: storedTime(z.int()),
  body: z.string(),
  /** Headers of one that another program made, its signature included; omitted: those of the webhook, and a signature. */
  headers: dictionary(z.string()).optional(),
  /** Time after which an event without subscribers may be dropped; others leave with their last delivery. */
  keep_until: z.int().nullable(),
  /** Id of its cause; null if there is none. */
  cause: z.string().nullable(),
});
export type WebhookEvent = z.infer<typeof WebhookEvent>;

export const webhookEvents = rows<WebhookEvent, "contract" | "activity" | "keep_until" | "cause">({
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

/** The bytes of an event: those of another program are never written in another form. */
export function bodyOf(
  event: Pick<WebhookEvent, "id" | "body" | "headers"> | undefined,
  form: WebhookJsonForm,
): string {
  if (event === undefined) return "";
  return event.headers === undefined ? writeJson(event.body, getWebhookForm(form, event.id)) : event.body;
}

export const Outcome = z.enum(deliveryOutcomes);
export type Outcome = z.infer<typeof Outcome>;

/** A scripted fault: its effect, and the id of the fault; null if there is none. */
const AttemptFault = z.strictObject({ effect: z.string(), cause: z.string().nullable() });
export type AttemptFault = z.infer<typeof AttemptFault>;

export const faultOf = ({ effect, cause }: AppliedFault): AttemptFault => ({ effect, cause: cause?.id ?? null });

/** Each is listed. */
const maxAttempts = 100_000;

/** One activity for one webhook. */
export const Delivery = z.strictObject({
  id: z.int(),
  event_id: z.int(),
  webhook_id: z.int(),
  workspace_id: z.int(),
  activity: z.enum(activities),
  contract_id: z.int().nullable(),
  /** Purpose of one that another program made, with nothing in the schedule; omitted for all others. */
  label: z.string().optional(),
  /** Its entry in the schedule, kept over all retries. */
  entry_id: z.int(),
  outcome: Outcome,
  /** How many attempts were made, resends included. */
  attempts: z.int().refine((count) => count >= 0 && count <= maxAttempts, "Not a number of attempts"),
  /** Failed attempts of the schedule, resends not included: they decide the next delay. */
  failures: z.int(),
  /** Virtual milliseconds, as are the following. */
  next_attempt_at: storedDeadline(z.int()).nullable(),
  /** Reason why the next attempt is postponed; null: it comes on time. */
  put_off: AttemptFault.nullable(),
  created_at: storedTime(z.int()),
  /** When the record may be dropped; null while it is not final (DECISIONS.md, C21). */
  keep_until: z.int().nullable(),
});
export type Delivery = z.infer<typeof Delivery>;

/**
 * No index by workspace and activity, of which there are few: each delivery would pay for a comparison that is as fast.
 */
export const deliveries = rows<Delivery, "webhook" | "contract" | "outcome" | "event" | "keep_until">({
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

/** One POST and its result. A row of its own, so that a retry does not write the earlier ones again. */
export const Attempt = z.strictObject({
  delivery_id: z.int(),
  /** From 1. */
  number: z.int(),
  resend: z.boolean(),
  /** Virtual milliseconds. */
  planned_at: storedDeadline(z.int()),
  at: storedTime(z.int()),
  /** Milliseconds on the wall, under --deterministic the virtual ones. */
  wall_at: storedTime(z.int()),
  /** Id of its cause: of the event, or of the request for a resend; null if there is none. */
  cause: z.string().nullable(),
  /** Id of the clock advance by which it came due; null: the clock was not advanced. */
  moved_by: z.string().nullable(),
  /** The fault that interfered; null: none. */
  fault: AttemptFault.nullable(),
  url: z.string(),
  /** Status of the response; null if there was none. */
  status: z.int().nullable(),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  /** Wall-clock time; 0 under --deterministic. */
  duration_ms: z.number(),
  /** The first 64 kB, as UTF-8; null when there was no response. */
  response_body: z.string().nullable(),
});
export type Attempt = z.infer<typeof Attempt>;

export const attempts = rows<Attempt, "asked_by" | "moved_by">({
  name: "webhook_attempts",
  schema: Attempt,
  key: (row) => attemptKey(row.delivery_id, row.number),
  indexes: {
    /** Resends only: all others follow from their delivery. */
    asked_by: (row) => (row.resend ? (row.cause ?? undefined) : undefined),
    moved_by: (row) => row.moved_by ?? undefined,
  },
});

const attemptKey = (deliveryId: number, number: number): string => `${deliveryId}/${number}`;

/** The keys of the attempts of a delivery, in their order. */
export const attemptKeys = ({ id, attempts }: Delivery): string[] =>
  Array.from({ length: attempts }, (_, before) => attemptKey(id, before + 1));

/** How things are called in traces; the names of causes are their ids. The span of each is made of its name. */
export const eventName = (id: number): string => `event:${id}`;
export const deliveryName = (id: number): string => `delivery:${id}`;
export const attemptName = (deliveryId: number, number: number): string => `attempt:${deliveryId}.${number}`;

/** The W3C trace of an event and of its deliveries: that of its cause; where that is not kept, one of its own. */
export const traceOfEvent = (event: Pick<WebhookEvent, "id"> | undefined, cause: CauseRow | undefined): string =>
  cause?.trace ?? hash("sha256", eventName(event?.id ?? 0)).toString("hex", 0, 16);

/** How the service was observed to send webhooks. */
interface WebhookObserver {
  /** Whether no receiver is notified of the activity. */
  isSilent(activity: string): boolean;
  webhookBody(activity: string, body: string): string;
  /** The headers of a delivery, without its signature. */
  webhookHeaders(activity: string, headers: Readonly<Record<string, string>>): Record<string, string>;
}

/** By the clock of an emulator, which everything that emits has at hand. */
const observers = new WeakMap<Clock, WebhookObserver>();

/** Lets webhooks of the emulator with this clock be as they were observed. */
export const observeWebhooks = (clock: Clock, observer: WebhookObserver): void => void observers.set(clock, observer);

export const webhookObserver = (clock: Clock): WebhookObserver | undefined => observers.get(clock);
