import * as z from "zod";
import { defineOperation, empty, events, json } from "../operation.ts";
import { controlOperation } from "../services.ts";
import { dictionary, nullableString, optionalString, timestamp } from "../shapes.ts";

export const LoggedRequest = z.strictObject({
  id: z.int().describe("Sequence number by arrival, from 1 at the start of the emulator"),
  at: timestamp.describe("Virtual time of arrival"),
  wall_at: timestamp.describe("Wall-clock time of arrival"),
  listener: z.string().describe("`router`, or the ID of the receiving cluster"),
  service: z.string().describe("Service of the operation"),
  operation: nullableString.describe("Operation; null for an undeclared path"),
  nearest: nullableString.describe("Nearest operation of an undeclared path"),
  method: z.string(),
  target: z.string().describe("Path and query, without secrets"),
  headers: dictionary(z.string()).describe("Headers; values that may be secrets are omitted"),
  status: z.int().describe("Status of the response; 0 if the connection ended without one"),
  failure: nullableString.describe("Code of the declared failure"),
  caller: nullableString.describe(
    "Name of the control token, local for the token of the run file; null if it used none",
  ),
  workspace_id: z.int().optional().describe("Workspace that the credentials identified; omitted without one"),
  findings: z
    .array(z.strictObject({ code: z.string(), detail: z.string().optional() }))
    .describe("Findings that the response does not show, such as relaxed checks"),
  duration_ms: z.int().describe("Duration in wall milliseconds"),
  body: z.unknown().optional().describe("JSON body without secrets, up to 16 KiB; only if bodies are requested"),
  cause: optionalString.describe(
    "Cause of a request that the emulator itself sent, such as request:12; otherwise omitted",
  ),
  fault: optionalString.describe(
    "Fault that affected the request, and the request that added the fault (omitted if none)",
  ),
  replaced: z
    .boolean()
    .optional()
    .describe("True: its state was replaced by a restore, a rewind or a reset, and later numbers are reused"),
});

const filters = {
  service: z.enum(["router", "contracts", "storage", "emulator"]).optional().describe("Show only this service"),
  operation: optionalString.describe("Show only this operation"),
  status: z.int().optional().describe("Show only this status"),
  workspace: z.int().min(1).optional().describe("Show only requests with the credentials of this workspace"),
  since: z.iso.datetime({ offset: true }).optional().describe("Start of the period, in virtual time"),
  reads: z.boolean().default(true).describe("Include requests that only read the control plane"),
};

const columns = [
  "id",
  "at",
  "listener",
  "method",
  // The end of a target distinguishes it from the others.
  { name: "target", shrinkPriority: 1, minWidth: 24, omits: "start", purpose: true },
  { name: "status", purpose: true },
  { name: "operation", shrinkPriority: 2, minWidth: 16 },
] as const;

export const listRequests = defineOperation({
  id: "requests.list",
  ...controlOperation,
  summary: "List the requests that were received",
  description:
    "Requests are ordered by completion, the newest last. Requests are kept in memory; the oldest are dropped first. With `accept: text/event-stream`, the response is a stream.",
  path: "/_emulator/requests",
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
        total: z.int().describe("Number of all matches"),
        reads_omitted: z.int().describe("Number of matches among requests that only read the control plane"),
      }),
    ),
  },
  cli: { command: "emulator requests", rows: "items", columns },
  examples: [
    { title: "List the requests with status 422", query: { status: 422 } },
    { title: "List the requests with the API key of a workspace", query: { workspace: 1 } },
    { title: "Show request:12 of a trace", query: { id: 12 } },
  ],
});

export const watchRequests = defineOperation({
  id: "requests.watch",
  ...controlOperation,
  summary: "Follow the requests as they are received",
  description: 'A slow reader misses events: an event `resync` then counts them, `{ "missed": 12 }`.',
  path: "/_emulator/requests/events",
  request: { query: z.object(filters) },
  responses: { 200: events(LoggedRequest) },
  cli: { command: "emulator watch-requests", columns },
  examples: [{ title: "Follow requests to the contract API", query: { service: "contracts" } }],
});

export const clearRequests = defineOperation({
  id: "requests.clear",
  ...controlOperation,
  summary: "Clear the request log",
  method: "DELETE",
  path: "/_emulator/requests",
  role: "admin",
  responses: { 204: empty() },
  cli: { command: "emulator clear-requests" },
  examples: [{ title: "Start with an empty log" }],
});
