import * as z from "zod";
import { assumed } from "../basis.ts";
import { dictionary } from "../dictionary.ts";
import { empty, events, json, operation } from "../operation.ts";
import { emulator } from "../services.ts";
import { timestamp } from "../timestamp.ts";

const ours = assumed("The control plane is the emulator's own.");

export const LoggedRequest = z.strictObject({
  id: z.int().describe("Counts up from 1 since the start, in the order in which they came"),
  at: timestamp.describe("Virtual time at which it came"),
  wall_at: timestamp.describe("Wall time at which it came"),
  listener: z.string().describe("`router`, or the id of the cluster that it was sent to"),
  service: z.string().describe("Service of the operation"),
  operation: z.string().nullable().describe("Null: nothing is declared for the path"),
  nearest: z.string().nullable().describe("For a path that no operation declares: what may have been meant"),
  method: z.string(),
  target: z.string().describe("Path and query, without secrets"),
  headers: dictionary(z.string()).describe("Those that may hold secrets only by name"),
  status: z.int().describe("0: the connection ended without an answer"),
  failure: z.string().nullable().describe("Code of the declared failure that was answered"),
  caller: z
    .string()
    .nullable()
    .describe("Who asked the control plane: the name of the token, local for that of the run file; null: nobody said"),
  findings: z
    .array(z.strictObject({ code: z.string(), detail: z.string().optional() }))
    .describe("What was accepted by leniency and the real service may refuse"),
  duration_ms: z.int().describe("Wall milliseconds"),
  body: z
    .unknown()
    .optional()
    .describe("JSON that was sent, without secrets; with bodies alone, and where it had 16 KiB or less"),
  fault: z
    .string()
    .optional()
    .describe("The scripted trouble that it met, and the request that asked for it; left out: it met none"),
  left: z
    .boolean()
    .optional()
    .describe(
      "A restore, a rewind or a reset has left the state that it was of: numbers after that are given once more",
    ),
});

const filters = {
  service: z.enum(["router", "contracts", "storage", "emulator"]).optional().describe("Show only this service"),
  operation: z.string().optional().describe("Show only this operation"),
  status: z.int().optional().describe("Show only this status"),
  since: z.iso.datetime({ offset: true }).optional().describe("Start of the period, in virtual time"),
  reads: z.boolean().default(true).describe("Include requests that only read the control plane"),
};

const columns = [
  "id",
  "at",
  "listener",
  "method",
  // The end of a target tells it from others.
  { name: "target", cut: 1, least: 24, omits: "start", purpose: true },
  { name: "status", purpose: true },
  { name: "operation", cut: 2, least: 16 },
] as const;

export const listRequests = operation({
  id: "requests.list",
  service: emulator,
  summary: "List the requests that were received",
  description:
    "In the order in which they were answered, the newest last. The log is kept in memory and drops its oldest. With `accept: text/event-stream` it goes on.",
  method: "GET",
  path: "/_emulator/requests",
  auth: "control-token",
  request: {
    query: z.object({
      ...filters,
      id: z.int().min(1).optional().describe("Show the request with this number"),
      limit: z.int().min(1).max(10_000).default(100).describe("Maximum number of rows, newest first"),
      bodies: z.boolean().default(false).describe("Include the JSON that was sent, without secrets"),
    }),
  },
  responses: {
    200: json(
      z.strictObject({
        items: z.array(LoggedRequest),
        total: z.int().describe("How many match in all"),
        reads_left_out: z.int().describe("How many more would match with what only reads the control plane"),
      }),
    ),
  },
  failures: [],
  cli: { command: "emulator requests", rows: "items", columns },
  basis: ours,
  examples: [
    { title: "Which requests were refused for their fields?", query: { status: 422 } },
    { title: "The request that a trace names as request:12", query: { id: 12 } },
  ],
});

export const watchRequests = operation({
  id: "requests.watch",
  service: emulator,
  summary: "Follow the requests as they are received",
  description: 'A slow reader misses events: an event `resync` then counts them, `{ "missed": 12 }`.',
  method: "GET",
  path: "/_emulator/requests/events",
  auth: "control-token",
  request: { query: z.object(filters) },
  responses: { 200: events(LoggedRequest) },
  failures: [],
  cli: { command: "emulator watch-requests", columns },
  basis: ours,
  examples: [{ title: "Follow the contract API", query: { service: "contracts" } }],
});

export const clearRequests = operation({
  id: "requests.clear",
  service: emulator,
  summary: "Clear the request log",
  method: "DELETE",
  path: "/_emulator/requests",
  auth: "control-token",
  role: "admin",
  request: {},
  responses: { 204: empty() },
  failures: [],
  cli: { command: "emulator clear-requests" },
  basis: ours,
  examples: [{ title: "Start with an empty log" }],
});
