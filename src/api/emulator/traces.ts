import * as z from "zod";
import { defineOperation, events, json } from "../operation.ts";
import { controlOperation } from "../services.ts";
import { nullableString, timestamp } from "../shapes.ts";
import { DeliveryOutcome } from "./deliveries.ts";

/** Kinds of nodes of a trace. */
export const traceKinds = ["request", "advance", "timer", "event", "delivery", "attempt"] as const;

export const TraceNode = z.strictObject({
  id: z.string().describe("Kind and number: `request:12`, `delivery:3`, `attempt:3.1`"),
  kind: z.enum(traceKinds),
  parent: nullableString.describe("Parent node; null for a root, or if the parent is not retained"),
  trace: z.string().describe("W3C trace ID, 32 hexadecimal digits"),
  span: z.string().describe("Span ID, 16 hexadecimal digits"),
  parent_span: nullableString.describe("Parent span, possibly of the caller"),
  at: timestamp.describe("Virtual time"),
  wall_at: timestamp.nullable().describe("Wall time, virtual with --deterministic; null if not retained"),
  duration_ms: z.number().nullable().describe("Wall-clock duration; null if it has none or is not retained"),
  what: z.string(),
  because: z.string().describe("Cause, as a sentence"),
  moved_by: nullableString.describe("Clock advance that made it due; null if there is none"),
  fault: nullableString.describe("Fault that affected it, with the request that added the fault"),
  contract: nullableString.describe("T-12 or H-12"),
  webhook_id: z.int().nullable(),
  outcome: DeliveryOutcome.nullable().describe("Outcome of a delivery so far"),
  status_text: nullableString.describe("Status of a delivery in words: retrying, will be skipped"),
  disabled_by: nullableString.describe(
    "Cause that disabled the webhook of a skipped delivery, such as attempt:3.6; null if not retained",
  ),
  status: z.int().nullable().describe("Status of the receiver's response to an attempt"),
  error: nullableString.describe("Code of the error of an attempt"),
});

const PlannedEntry = z.strictObject({
  parent: z.string().describe("Future parent node"),
  due: timestamp.describe("Virtual time"),
  what: z.string(),
  because: z.string(),
});

export const traceColumns = [
  "id",
  "parent",
  "at",
  { name: "what", shrinkPriority: 1 },
  { name: "because", shrinkPriority: 2 },
] as const;

const params = z.object({
  ref: z.string().min(1).max(200).describe("request:12, T-1, delivery:3, event:4, webhook:1, or a W3C trace ID"),
});

export const showTrace = defineOperation({
  id: "traces.show",
  ...controlOperation,
  summary: "Show the causes and effects of a request or delivery",
  description:
    "Nodes are in tree order, each after its parent. Requests that changed nothing have no trace; the request log lists them.",
  path: "/_emulator/traces/{ref}",
  request: { params },
  responses: {
    200: json(
      z.strictObject({
        ref: z.string(),
        nodes: z.array(TraceNode),
        planned: z.array(PlannedEntry).describe("Scheduled nodes"),
        more: z.boolean().describe("True: the trace has more nodes"),
      }),
    ),
  },
  failures: ["no-such-trace", "malformed-ref"],
  cli: { command: "emulator trace", rows: "nodes", columns: traceColumns },
  examples: [
    { title: "Show why a webhook was sent six times", params: { ref: "T-1" } },
    { title: "Show the effects of a request", params: { ref: "request:12" } },
  ],
});

export const watchTrace = defineOperation({
  id: "traces.watch",
  ...controlOperation,
  summary: "Follow the nodes of a trace, and each change",
  path: "/_emulator/traces/{ref}/events",
  request: { params },
  responses: { 200: events(TraceNode) },
  failures: ["no-such-trace", "malformed-ref"],
  cli: { command: "emulator watch-trace", columns: traceColumns },
  examples: [{ title: "Follow the retries of a delivery", params: { ref: "T-1" } }],
});
