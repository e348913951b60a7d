import * as z from "zod";
import { activities } from "../../src/api/activities.ts";
import { deliveryOutcomes } from "../../src/api/delivery-outcomes.ts";
import { rows } from "../store/port.ts";

/** One activity as it is told: serialised once, and every delivery of it refers to these bytes. */
export const WebhookEvent = z.strictObject({
  id: z.int(),
  workspace_id: z.int(),
  activity: z.enum(activities),
  /** Null: an activity of a counterparty that has no contract yet. */
  contract_id: z.int().nullable(),
  /** Virtual milliseconds. */
  at: z.int(),
  body: z.string(),
  /** When an event that nobody subscribed to may be dropped; others leave with their last delivery. */
  keep_until: z.int().nullable(),
});
export type WebhookEvent = z.infer<typeof WebhookEvent>;

export const webhookEvents = rows<WebhookEvent, "contract" | "activity" | "keep_until">({
  name: "webhook_events",
  schema: WebhookEvent,
  key: (row) => String(row.id),
  indexes: {
    contract: (row) => row.contract_id ?? undefined,
    activity: (row) => row.activity,
    keep_until: (row) => row.keep_until ?? undefined,
  },
});

export const Outcome = z.enum(deliveryOutcomes);
export type Outcome = z.infer<typeof Outcome>;

/** One activity to one subscription. */
export const Delivery = z.strictObject({
  id: z.int(),
  event_id: z.int(),
  webhook_id: z.int(),
  workspace_id: z.int(),
  activity: z.enum(activities),
  contract_id: z.int().nullable(),
  /** Its entry in the schedule, kept over all retries. */
  entry_id: z.int(),
  outcome: Outcome,
  /** How many attempts were made, resends included. */
  attempts: z.int(),
  /** Failed attempts of the schedule, resends not included: they decide the next delay. */
  failures: z.int(),
  /** Virtual milliseconds, as are the following. */
  next_attempt_at: z.int().nullable(),
  created_at: z.int(),
  /** When the record may be dropped; null while it is not final (DECISIONS.md, C21). */
  keep_until: z.int().nullable(),
});
export type Delivery = z.infer<typeof Delivery>;

export const deliveries = rows<
  Delivery,
  "workspace" | "webhook" | "activity" | "contract" | "outcome" | "event" | "keep_until"
>({
  name: "webhook_deliveries",
  schema: Delivery,
  key: (row) => String(row.id),
  indexes: {
    workspace: (row) => row.workspace_id,
    webhook: (row) => row.webhook_id,
    activity: (row) => row.activity,
    contract: (row) => row.contract_id ?? undefined,
    outcome: (row) => row.outcome,
    event: (row) => row.event_id,
    keep_until: (row) => row.keep_until ?? undefined,
  },
});

/** One POST and what came of it. A row of its own, so that a retry does not write the earlier ones again. */
export const Attempt = z.strictObject({
  delivery_id: z.int(),
  /** From 1. */
  number: z.int(),
  resend: z.boolean(),
  /** Virtual milliseconds. */
  planned_at: z.int(),
  at: z.int(),
  url: z.string(),
  /** Of the answer; null when there was none. */
  status: z.int().nullable(),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  /** Wall time; 0 under --deterministic. */
  duration_ms: z.number(),
  /** The first 64 kB, as UTF-8; null when there was no answer. */
  response_body: z.string().nullable(),
});
export type Attempt = z.infer<typeof Attempt>;

export const attempts = rows<Attempt>({
  name: "webhook_attempts",
  schema: Attempt,
  key: (row) => attemptKey(row.delivery_id, row.number),
  indexes: {},
});

const attemptKey = (deliveryId: number, number: number): string => `${deliveryId}/${number}`;

/** The keys of the attempts of a delivery, in their order. */
export const attemptKeys = ({ id, attempts }: Delivery): string[] =>
  Array.from({ length: attempts }, (_, before) => attemptKey(id, before + 1));
