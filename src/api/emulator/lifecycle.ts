import * as z from "zod";
import { assumed } from "../basis.ts";
import { bytes, empty, json, operation } from "../operation.ts";
import { emulator } from "../services.ts";

const ours = assumed("The control plane is the emulator's own.");

/** What a process says of itself to whoever asks whether it is there. */
export const Readiness = z.strictObject({
  instance_id: z.string().describe("New at each start; tells one emulator from another on the same port"),
  public_url: z
    .string()
    .optional()
    .describe("Where clients find the router, as --public-url says; left out: where it listens"),
  role: z
    .enum(["leader", "standby"])
    .optional()
    .describe("Whether it leads its store or forwards to the leader; only with --store"),
  leader: z
    .string()
    .nullable()
    .optional()
    .describe("URL of the leader's router, or null without a leader; only with --store"),
  why: z
    .string()
    .optional()
    .describe("Why it is not ready; left out where another process is to be asked, and while it starts"),
});

export type Readiness = z.infer<typeof Readiness>;

/** The process that answers, as only its own machine has any use for it. */
const Process = z.strictObject({
  pid: z.int(),
  run_file: z
    .string()
    .nullable()
    .describe("Where it wrote how to reach it, beside its state; null: in memory, it wrote none"),
  machine: z.string().describe("A fingerprint of the machine, or the container, within which the pid means a process"),
});

const Liveness = Readiness.extend({
  process: Process.optional().describe(
    "Told to callers of the same machine alone, which ask it by a name of their own",
  ),
});

export type Liveness = z.infer<typeof Liveness>;

export const checkReadiness = operation({
  id: "emulator.ready",
  service: emulator,
  summary: "Check whether the emulator can serve requests",
  method: "GET",
  path: "/_emulator/ready",
  auth: "none",
  request: {},
  responses: { 200: json(Readiness), 503: json(Readiness) },
  failures: [],
  cli: { command: "emulator ready" },
  basis: ours,
  examples: [{ title: "Is it up?" }],
});

export const checkLiveness = operation({
  id: "emulator.live",
  service: emulator,
  summary: "Check whether the process responds, ready or not",
  description: "A liveness probe: restart the process if it fails. For readiness, see ready.",
  method: "GET",
  path: "/_emulator/live",
  auth: "none",
  request: {},
  responses: { 200: json(Liveness) },
  failures: [],
  cli: { command: "emulator live" },
  basis: ours,
  examples: [{ title: "Does it hang?" }],
});

const Kept = z.strictObject({
  count: z.int(),
  bytes: z.int().describe("What they hold of memory, about"),
  max_bytes: z.int().describe("No more is kept; the oldest are dropped first"),
  dropped: z.int().describe("Since the start, or since they were cleared"),
});

const Spans = z.strictObject({
  sent: z.int().describe("What the collector took"),
  waiting: z.int(),
  dropped: z.int().describe("What had no room, or could not be sent"),
  trouble: z.string().nullable().describe("Why the last export failed; null: it did not"),
});

export const showBufferUsage = operation({
  id: "emulator.kept",
  service: emulator,
  summary: "Show the size of the in-memory buffers",
  method: "GET",
  path: "/_emulator/kept",
  auth: "control-token",
  request: {},
  responses: {
    200: json(
      z.strictObject({
        requests: Kept.describe("The request log"),
        inboxes: Kept.describe("What was forwarded to emulated clusters, over all of them"),
        spans: Spans.nullable().describe("What left for an OpenTelemetry collector; null: OTEL_ variables name none"),
        events: Kept.extend({ streams: z.int().describe("How many follow them now") }).describe(
          "What streams of events may go on with; nothing while nobody has followed one for a while",
        ),
      }),
    ),
  },
  failures: [],
  cli: { command: "emulator usage" },
  basis: ours,
  examples: [{ title: "Has the log dropped any?" }],
});

/** What metrics are written in: whoever does not ask for OpenMetrics gets the text that everything reads. */
export const expositionTypes = {
  plainText: "text/plain; version=0.0.4; charset=utf-8",
  openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
} as const;

export const showMetrics = operation({
  id: "emulator.metrics",
  service: emulator,
  summary: "Print counters and gauges for Prometheus",
  description:
    "Prints OpenMetrics if the request accepts application/openmetrics-text, and Prometheus text otherwise. Counters start with the process and survive resets and restores. Labels name services, operations and outcomes, and never hold data of callers. With --store a label names the leader. Scrape it with a token of the role read.",
  method: "GET",
  path: "/_emulator/metrics",
  auth: "control-token",
  request: {},
  responses: { 200: bytes(expositionTypes.plainText, expositionTypes.openMetrics) },
  failures: [],
  cli: { command: "emulator metrics" },
  basis: ours,
  examples: [{ title: "What a scrape finds" }],
});

export const stop = operation({
  id: "emulator.stop",
  service: emulator,
  summary: "Stop the emulator after what is due now is done",
  method: "POST",
  path: "/_emulator/stop",
  auth: "control-token",
  role: "admin",
  request: {},
  responses: { 202: empty() },
  failures: [],
  cli: { by: "emulator stop" },
  basis: ours,
  examples: [],
});
