import * as z from "zod";
import { activities } from "../activities.ts";
import { defineOperation, events, json } from "../operation.ts";
import { controlOperation } from "../services.ts";
import { dictionary, nullableString, optionalString, timestamp } from "../shapes.ts";
import { deliveryOutcomes } from "../webhook-retries.ts";
import { contractFilter, defineItemPage, pageQuery, receiverTimeoutMs } from "./shapes.ts";

const basis = { assumed: "The real service shows its webhook log in its application only." };

/** Outcome of a delivery. */
export const DeliveryOutcome = z
  .enum(deliveryOutcomes)
  .describe("waiting and retrying are not final: attempts that are due while the webhook is disabled are skipped");

const Fault = z
  .strictObject({
    effect: z.string().describe("Effect: drop, tamper, wrong_key, duplicate, delay, reorder"),
    by: nullableString.describe("Request that added the fault, for svc emulator trace; null if not retained"),
  })
  .nullable();

const attempt = {
  number: z.int().describe("Number among all attempts of the delivery, resends included"),
  resend: z.boolean().describe("Requested by a user, outside the schedule"),
  scheduled_number: z.int().nullable().describe("Number among the scheduled attempts, from 1; null for a resend"),
  planned_at: timestamp.describe("Virtual time at which the attempt was due"),
  at: timestamp,
  status: z.int().nullable().describe("Status of the receiver's response; null if there is none"),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  duration_ms: z.number().describe("Wall-clock time"),
  fault: Fault.describe("Fault that changed, mis-signed, dropped or delayed the request; null if there is none"),
  response: nullableString.describe("Beginning of the receiver's response, in one line, if it was not 2xx"),
  location: optionalString.describe("Target of a redirect, without the values of its query; omitted without one"),
};

const delivery = {
  id: z.int(),
  webhook_id: z.int(),
  workspace_id: z.int(),
  activity: z.enum(activities),
  contract_id: z.int().nullable(),
  composite_id: nullableString.describe("Composite ID: T-12 or H-12"),
  webhook_status: z
    .enum(["ACTIVE", "DISABLED_BY_USER", "DISABLED_BY_ERROR", "DELETED"])
    .describe("Current status; the next attempt is skipped unless it is ACTIVE"),
  outcome: DeliveryOutcome,
  label: optionalString.describe("Purpose of a delivery that another program made; omitted for all others"),
  status_text: z.string().describe("Status in words: retrying, will be skipped, skipped: webhook disabled"),
  last_response: nullableString.describe("Result of the newest attempt: status 500, timeout; null before the first"),
  next_attempt_at: timestamp.nullable(),
  postponement: Fault.describe("Fault that delays the next attempt; null if there is none"),
  max_attempts: z.int().describe("Number of attempts by the retry schedule of its workspace, resends not included"),
  created_at: timestamp,
};

/** A delivery in lists. */
export const ListedDelivery = z.strictObject({ ...delivery, attempts: z.array(z.strictObject(attempt)) });

const Deliveries = defineItemPage(ListedDelivery);

const WholeDelivery = z.strictObject({
  ...delivery,
  request_headers: dictionary(z.string()).describe(
    "Headers as sent, unless a fault applies (see attempts); values of the webhook's own headers are omitted, since they may be secrets",
  ),
  request_body: z
    .string()
    .describe("Body that is signed and sent in each attempt, unless a fault changed it (see attempts)"),
  attempts: z.array(
    z.strictObject({
      ...attempt,
      url: z.string(),
      response_body: nullableString.describe("First 64 kB, decompressed"),
    }),
  ),
});

const filters = {
  webhook: z.int().optional().describe("Show only this webhook"),
  activity: z.enum(activities).optional().describe("Show only this activity"),
  contract: contractFilter,
  outcome: DeliveryOutcome.optional().describe("Show only this outcome"),
};

/** A delivery in event streams. */
export const deliveryEventFields = {
  ...delivery,
  attempt: z.strictObject(attempt).nullable().describe("Attempt of this request; null if there is none, see outcome"),
};

/** Result of one attempt, or of a delivery that ends without one. */
const DeliveryEvent = z.strictObject({
  ...deliveryEventFields,
  at: timestamp.describe("Virtual time at which the attempt was made or skipped"),
});

const params = z.object({ id: z.int().describe("ID of the delivery") });

export const listDeliveries = defineOperation({
  id: "deliveries.list",
  ...controlOperation,
  summary: "List webhook deliveries and their attempts, newest first",
  path: "/_emulator/deliveries",
  request: { query: z.object({ ...filters, ...pageQuery }) },
  responses: { 200: json(Deliveries) },
  cli: {
    command: "emulator deliveries",
    rows: "items",
    // Time of the next attempt, which is skipped unless the webhook is active then.
    columns: [
      "id",
      "webhook_id",
      // Most activities start with the same text, so the end distinguishes them.
      { name: "activity", shrinkPriority: 1, minWidth: 12, omits: "start" },
      "composite_id",
      { name: "status_text", purpose: true },
      { name: "webhook_status", shrinkPriority: 2 },
      { name: "last_response", shrinkPriority: 2, minWidth: 18, purpose: true },
      "next_attempt_at",
    ],
  },
  basis,
  examples: [{ title: "List deliveries that a disabled webhook skipped", query: { outcome: "skipped_disabled" } }],
});

export const watchDeliveries = defineOperation({
  id: "deliveries.watch",
  ...controlOperation,
  summary: "Follow delivery attempts as they are made",
  path: "/_emulator/deliveries/events",
  request: { query: z.object(filters) },
  responses: { 200: events(DeliveryEvent) },
  cli: { by: "webhooks deliveries" },
  basis,
  examples: [{ title: "Follow one webhook", query: { webhook: 1 } }],
});

export const showDelivery = defineOperation({
  id: "deliveries.show",
  ...controlOperation,
  summary: "Show one delivery with its request and responses",
  path: "/_emulator/deliveries/{id}",
  request: { params },
  responses: { 200: json(WholeDelivery) },
  failures: ["no-such-delivery"],
  cli: { command: "emulator deliveries show" },
  basis,
  examples: [{ title: "Show request and responses of a delivery", params: { id: 1 } }],
});

export const recordDelivery = defineOperation({
  id: "deliveries.record",
  ...controlOperation,
  summary: "Record a delivery that another program made",
  description:
    "Nothing is sent, and the webhook's failures are not counted. A resend sends the recorded bytes with the recorded headers, which need not be a valid signature.",
  method: "POST",
  path: "/_emulator/deliveries",
  request: {
    body: json(
      z.object({
        webhook: z.int().describe("ID of the webhook whose URL it was sent to"),
        activity: z.enum(activities).describe("Activity of the event"),
        label: z.string().max(200).describe("Purpose of the delivery"),
        headers: dictionary(
          z.string().regex(/^[\t -~\u0080-\u00ff]*$/, "must not contain control characters"),
          z.string().regex(/^(?:[Cc]ontent-[Tt]ype|[Xx]-[A-Za-z0-9-]+)$/, "must be Content-Type or X-…"),
        ).describe("Headers as sent: Content-Type and those named X-…"),
        body: z.string().describe("Body as sent"),
        status: z
          .int()
          .min(100)
          .max(999)
          .nullable()
          .describe("Status of the receiver's response; null if there is none"),
        error: z
          .object({ code: z.string(), message: z.string() })
          .nullable()
          .optional()
          .describe("Why there was no complete response"),
        duration_ms: z.number().min(0).describe("Wall-clock time"),
        response_body: z.string().max(65_536).nullable().optional().describe("Body of the receiver's response"),
      }),
    ),
  },
  responses: { 201: json(WholeDelivery) },
  failures: ["no-such-webhook"],
  cli: { command: "emulator record-delivery" },
  basis,
  examples: [
    {
      title: "Record an event that a receiver rejected",
      body: {
        webhook: 1,
        activity: "CONTRACT_SIGNED",
        label: "signature.missing",
        headers: { "Content-Type": "application/json" },
        body: '{"activity":"CONTRACT_SIGNED"}',
        status: 401,
        duration_ms: 3,
      },
    },
  ],
});

export const resendDelivery = defineOperation({
  id: "deliveries.resend",
  ...controlOperation,
  summary: "Resend a delivery now and show the result",
  method: "POST",
  path: "/_emulator/deliveries/{id}/resend",
  request: { params },
  responses: { 200: json(WholeDelivery) },
  maxDurationMs: receiverTimeoutMs,
  failures: ["no-such-delivery", "webhook-deleted"],
  cli: { command: "emulator deliveries resend" },
  basis,
  examples: [{ title: "Resend a skipped delivery", params: { id: 1 } }],
});

/** Purpose of an e-mail of the platform. */
export const emailPurposes = ["signing", "redlining", "invitation", "trial"] as const;

/** Reports of the e-mail provider, by RecordType, and their effect on an e-mail (DECISIONS.md, R27). */
export const mailerEvents = {
  Delivery: "DELIVERED",
  Open: "OPENED",
  Click: "LINK_CLICKED",
  Bounce: "NOT_DELIVERED",
  Drop: "NOT_DELIVERED",
  SpamComplaint: "NOT_DELIVERED",
} as const;
export type MailerEvent = keyof typeof mailerEvents;
export const mailerEventNames = Object.keys(mailerEvents) as [MailerEvent, ...MailerEvent[]];
