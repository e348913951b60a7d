import * as z from "zod";
import { readinessRoute } from "../control-plane.ts";
import { bytes, defineOperation, empty, json } from "../operation.ts";
import { controlOperation } from "../services.ts";
import { nullableString, optionalString } from "../shapes.ts";

/** Response to a readiness probe. */
export const Readiness = z.strictObject({
  instance_id: z.string().describe("New at each start; distinguishes emulators on the same port"),
  public_url: optionalString.describe(
    "URL of the router for clients, from --public-url (default: its listening address)",
  ),
  role: z
    .enum(["leader", "standby"])
    .optional()
    .describe("Whether the process leads its store or forwards to the leader; only with --store"),
  leader: z
    .string()
    .nullable()
    .optional()
    .describe("URL of the leader's router; null if there is no leader; only with --store"),
  why: optionalString.describe("Reason why it is not ready; omitted during startup, and if another process leads"),
});

export type Readiness = z.infer<typeof Readiness>;

/** The responding process. Only clients on the same machine can use these fields. */
const Process = z.strictObject({
  pid: z.int(),
  run_file: nullableString.describe("Path of the run file, next to the state; null in memory"),
  machine: z.string().describe("Fingerprint of the machine or container of the pid"),
});

const Liveness = Readiness.extend({
  process: Process.optional().describe("Shown only to callers on the same machine"),
});

export type Liveness = z.infer<typeof Liveness>;

export const checkReadiness = defineOperation({
  ...controlOperation,
  ...readinessRoute,
  summary: "Check whether the emulator can serve requests",
  responses: { 200: json(Readiness), 503: json(Readiness) },
  cli: { command: "emulator ready" },
  examples: [{ title: "Check readiness" }],
});

export const checkLiveness = defineOperation({
  id: "emulator.live",
  ...controlOperation,
  summary: "Check whether the process responds, ready or not",
  description: "A liveness probe: restart the process if it fails. For readiness, see ready.",
  path: "/_emulator/live",
  auth: "none",
  responses: { 200: json(Liveness) },
  cli: { command: "emulator live" },
  examples: [{ title: "Check liveness" }],
});

const Kept = z.strictObject({
  count: z.int(),
  bytes: z.int().describe("Approximate memory in bytes"),
  max_bytes: z.int().describe("Maximum; the oldest are dropped first"),
  dropped: z.int().describe("Number dropped since the start, or since the last clear"),
});

const Spans = z.strictObject({
  sent: z.int().describe("Spans accepted by the collector"),
  waiting: z.int(),
  dropped: z.int().describe("Spans dropped from a full buffer, or not sent"),
  error: nullableString.describe("Error of the last export; null after a success"),
});

export const showBufferUsage = defineOperation({
  id: "emulator.usage",
  ...controlOperation,
  summary: "Show the size of the in-memory buffers",
  path: "/_emulator/usage",
  responses: {
    200: json(
      z.strictObject({
        requests: Kept.describe("Request log"),
        inboxes: Kept.describe("Requests forwarded to emulated clusters, in total"),
        spans: Spans.nullable().describe("Spans for the OpenTelemetry collector; null if no OTEL_ variable is set"),
        events: Kept.extend({ streams: z.int().describe("Number of open streams") }).describe(
          "Events retained to resume streams; none while no stream is open",
        ),
      }),
    ),
  },
  cli: { command: "emulator usage" },
  examples: [{ title: "Show dropped requests" }],
});

/**
 * Formats of metrics. Clients that do not request OpenMetrics get the plain text format, which every client can parse.
 */
export const expositionTypes = {
  plainText: "text/plain; version=0.0.4; charset=utf-8",
  openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
} as const;

export const showMetrics = defineOperation({
  id: "emulator.metrics",
  ...controlOperation,
  summary: "Print counters and gauges for Prometheus",
  description:
    "Prints OpenMetrics if the request accepts application/openmetrics-text, and Prometheus text otherwise. Counters start with the process and survive resets and restores. Labels contain services, operations and outcomes, but no data of callers. With --store, a label names the leader. Scrape it with a token of the role read.",
  path: "/_emulator/metrics",
  responses: { 200: bytes(expositionTypes.plainText, expositionTypes.openMetrics) },
  cli: { command: "emulator metrics" },
  examples: [{ title: "Print the metrics" }],
});

export const stop = defineOperation({
  id: "emulator.stop",
  ...controlOperation,
  summary: "Stop the emulator after the work that is due",
  method: "POST",
  path: "/_emulator/stop",
  role: "admin",
  responses: { 202: empty() },
  cli: { by: "emulator stop" },
  examples: [],
});

const Documents = z.enum(["router.json", "contracts.json", "emulator.json"]);

export const openapi = defineOperation({
  id: "emulator.openapi",
  ...controlOperation,
  summary: "Print the OpenAPI 3.1 document of a service",
  path: "/_emulator/openapi/{document}",
  auth: "none",
  request: { params: z.object({ document: Documents.describe("The service, as a file name") }) },
  responses: { 200: json(z.looseObject({ openapi: z.string() })) },
  cli: { by: "openapi" },
  examples: [{ title: "Generate a client", params: { document: "contracts.json" } }],
});
