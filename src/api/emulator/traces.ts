import * as z from "zod";
import { assumed } from "../basis.ts";
import { events, json, operation } from "../operation.ts";
import { emulator } from "../services.ts";
import { timestamp } from "../timestamp.ts";
import { DeliveryOutcome } from "./deliveries.ts";

const ours = assumed("The control plane is the emulator's own.");

/** What a node of a trace may be. */
export const traceKinds = ["request", "advance", "timer", "event", "delivery", "attempt"] as const;

const TraceNode = z.strictObject({
  id: z.string().describe("What it is, and its number: `request:12`, `delivery:3`, `attempt:3.1`"),
  kind: z.enum(traceKinds),
  parent: z
    .string()
    .nullable()
    .describe("The node that it follows from; null: a beginning, or what led to it is not kept"),
  trace: z.string().describe("The W3C trace that it belongs to, 32 hexadecimal digits"),
  span: z.string().describe("Its id there, 16 hexadecimal digits"),
  parent_span: z.string().nullable().describe("The span that it follows from, which may be the caller's own"),
  at: timestamp.describe("Virtual time"),
  wall_at: timestamp.nullable().describe("Wall time, virtual under --deterministic; null where it was not kept"),
  duration_ms: z.number().nullable().describe("On the wall clock; null where it takes no time or that is not kept"),
  what: z.string(),
  because: z.string().describe("Why it happened, in plain words"),
  moved_by: z.string().nullable().describe("The move of time by which it came due; null: nobody moved time"),
  fault: z.string().nullable().describe("The scripted trouble that interfered, and the request that asked for it"),
  contract: z.string().nullable().describe("T-12 or H-12"),
  webhook_id: z.int().nullable(),
  outcome: DeliveryOutcome.nullable().describe("Of a delivery, until now"),
  status: z.int().nullable().describe("Of the receiver's answer to an attempt"),
  error: z.string().nullable().describe("Code of what kept an attempt from being answered"),
});

const Planned = z.strictObject({
  parent: z.string().describe("The node that it will follow from"),
  due: timestamp.describe("Virtual time"),
  what: z.string(),
  because: z.string(),
});

const columns = ["id", "parent", "at", { name: "what", cut: 1 }, { name: "because", cut: 2 }] as const;

const params = z.object({
  ref: z.string().min(1).max(200).describe("request:12, T-1, delivery:3, event:4, webhook:1, or a W3C trace id"),
});

export const showTrace = operation({
  id: "traces.show",
  service: emulator,
  summary: "Show what happened and why: a request, a contract or a delivery with all that led to it and followed",
  description:
    "Nodes stand in the order of the tree, each after the one that it follows from. What changed nothing is not kept: the request log tells of it.",
  method: "GET",
  path: "/_emulator/traces/{ref}",
  auth: "control-token",
  request: { params },
  responses: {
    200: json(
      z.strictObject({
        ref: z.string(),
        nodes: z.array(TraceNode),
        planned: z.array(Planned).describe("What is still to come"),
        more: z.boolean().describe("True: there is more than is shown"),
      }),
    ),
  },
  failures: ["no-such-trace", "malformed-ref"],
  cli: { command: "emulator trace", rows: "nodes", columns },
  basis: ours,
  examples: [
    { title: "Why was the contract's webhook sent six times?", params: { ref: "T-1" } },
    { title: "What followed from a request?", params: { ref: "request:12" } },
  ],
});

export const watchTrace = operation({
  id: "traces.watch",
  service: emulator,
  summary: "Follow the nodes of a trace, and each change",
  method: "GET",
  path: "/_emulator/traces/{ref}/events",
  auth: "control-token",
  request: { params },
  responses: { 200: events(TraceNode) },
  failures: ["no-such-trace", "malformed-ref"],
  cli: { command: "emulator watch-trace", columns },
  basis: ours,
  examples: [{ title: "As retries are made", params: { ref: "T-1" } }],
});
