import * as z from "zod";
import { clockModes } from "../../base/clock.ts";
import { defineOperation, json } from "../operation.ts";
import { controlOperation } from "../services.ts";
import { anyOf, createFieldIssue, duration, requireExactlyOne, timestamp } from "../shapes.ts";

const Mode = z.enum(clockModes);
const Queue = {
  next_due: timestamp
    .nullable()
    .describe(
      "Due time of the next entry of the schedule; null if there is none. A token of a workspace sees only its entries",
    ),
  pending: z.int().describe("Number of scheduled entries"),
};

export const Clock = z.strictObject({
  now: timestamp.describe("Virtual time, ISO 8601 with milliseconds"),
  mode: Mode,
  speed: z.number().describe("Virtual seconds per second, in mode real"),
  ...Queue,
});

const ClockSettings = z
  .object({
    mode: Mode.optional().describe(
      "real: time passes; manual: only commands advance time; auto: time jumps to the next due entry",
    ),
    speed: z.number().positive().max(1_000_000).optional().describe("Virtual seconds per second, in mode real"),
  })
  .refine(
    ({ mode, speed }) => mode !== undefined || speed !== undefined,
    createFieldIssue("{mode} or {speed} is required"),
  )
  .meta(anyOf("mode", "speed"));

const Target = requireExactlyOne(
  z.object({
    by: duration("PT2H35M or 2h35m").optional().describe("Duration to advance: PT2H35M or 2h35m"),
    to: z.iso.datetime({ offset: true }).optional().describe("Time to advance to, ISO 8601"),
    next: z.literal(true).optional().describe("Advance to the next scheduled entry"),
    until_idle: z.literal(true).optional().describe("Advance until the queue is empty"),
  }),
  "by",
  "to",
  "next",
  "until_idle",
);

const AdvanceResult = z.strictObject({
  from: timestamp,
  to: timestamp,
  ran: z.array(
    z.strictObject({
      at: timestamp,
      kind: z.string(),
      ref: z.string(),
      outcome: z.string(),
      status_text: z
        .string()
        .describe(
          "Outcome in words; for the last attempt of a delivery, its status after the advance: will be skipped",
        ),
    }),
  ),
  ...Queue,
  status: z.enum(["done", "stopped"]),
  reason: z
    .enum(["too_many_entries", "too_much_wall_time", "closing", "state_replaced", "store_failed"])
    .optional()
    .describe("Reason for an early stop; repeat the request to continue"),
});

export const showClock = defineOperation({
  id: "clock.show",
  ...controlOperation,
  summary: "Show virtual time and what is due next",
  path: "/_emulator/clock",
  responses: { 200: json(Clock) },
  cli: { command: "emulator clock", columns: ["now", "mode", "speed", "next_due", "pending"] },
  examples: [{ title: "Show virtual time" }],
});

export const setClock = defineOperation({
  id: "clock.set",
  ...controlOperation,
  summary: "Set how virtual time passes",
  method: "PUT",
  path: "/_emulator/clock",
  request: { body: json(ClockSettings) },
  responses: { 200: json(Clock) },
  failures: ["advance-in-progress"],
  cli: { command: "emulator clock set", columns: ["now", "mode", "speed", "next_due", "pending"] },
  examples: [
    { title: "Advance one minute per second", body: { mode: "real", speed: 60 } },
    { title: "Stop the clock", body: { mode: "manual" } },
  ],
});

export const advanceClock = defineOperation({
  id: "clock.advance",
  ...controlOperation,
  summary: "Advance virtual time, and run what becomes due in order",
  method: "POST",
  path: "/_emulator/clock/advance",
  request: { body: json(Target) },
  responses: { 200: json(AdvanceResult) },
  // The advance stops after two minutes (emulator/clock/runner.ts).
  maxDurationMs: 130_000,
  failures: ["time-in-past", "time-out-of-range", "advance-in-progress", "delivery-in-progress"],
  cli: { command: "emulator clock advance", rows: "ran", columns: ["at", "kind", "ref", "status_text"] },
  examples: [
    { title: "Run all retries of a webhook", body: { by: "PT2H35M" } },
    { title: "Advance to the next scheduled entry", body: { next: true } },
  ],
});
