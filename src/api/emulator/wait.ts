import * as z from "zod";
import { activities } from "../activities.ts";
import { contractStatus } from "../contracts/shapes.ts";
import { defineOperation, json } from "../operation.ts";
import { controlOperation } from "../services.ts";
import { createFieldIssue, nullableString, timestamp } from "../shapes.ts";
import { DeliveryOutcome } from "./deliveries.ts";
import { contractFilter } from "./shapes.ts";

const WaitQuery = z
  .object({
    activity: z.enum(activities).optional().describe("Wait for this activity; with outcome, only deliveries of it"),
    outcome: DeliveryOutcome.optional().describe("Wait for a delivery with this outcome"),
    contract_status: contractStatus.optional().describe("Wait for this status of the contract"),
    contract: contractFilter,
    webhook: z.int().optional().describe("With outcome, only deliveries to this webhook"),
    count: z.int().min(1).max(1_000).default(1).describe("Number of matches"),
    since: z.iso
      .datetime({ offset: true })
      .optional()
      .describe("Virtual time from which matches count (default: the beginning)"),
    timeout_ms: z.int().min(0).max(600_000).default(30_000).describe("Maximum duration on the wall clock"),
  })
  .superRefine((input, context) => {
    const addIssue = (rule: string) => context.addIssue({ code: "custom", path: [], ...createFieldIssue(rule) });
    if (!input.activity && !input.outcome && !input.contract_status) {
      addIssue("one of {activity}, {outcome} and {contract_status} is required");
    }
    if (input.contract_status && (input.activity || input.outcome)) {
      addIssue("{contract_status} cannot be used with {activity} or {outcome}");
    }
    if (input.contract_status && input.contract === undefined) addIssue("{contract_status} requires {contract}");
    if (input.webhook !== undefined && !input.outcome) addIssue("{webhook} requires {outcome}");
  });

const contractNamed = {
  contract_id: z.int().nullable(),
  composite_id: nullableString.describe("Composite ID: T-12 or H-12"),
};

const WaitResult = z.strictObject({
  reached: z.boolean().describe("False: timed out"),
  now: timestamp.describe("Virtual time"),
  activities: z
    .array(z.strictObject({ activity: z.string(), ...contractNamed, at: timestamp }))
    .describe("Matches, newest first; after a timeout the latest activities instead"),
  deliveries: z
    .array(
      z.strictObject({
        id: z.int(),
        webhook_id: z.int(),
        activity: z.string(),
        ...contractNamed,
        outcome: DeliveryOutcome,
      }),
    )
    .describe("Matches, newest first; after a timeout the latest with another outcome instead"),
  contract: z
    .strictObject({ contract_id: z.int(), composite_id: z.string(), contract_status: contractStatus })
    .nullable()
    .describe("Current contract, with contract_status"),
});

export const wait = defineOperation({
  id: "emulator.wait",
  ...controlOperation,
  summary: "Wait for an activity, a delivery or a contract status",
  description: "Does not advance the clock: on a manual clock, advance it in another terminal.",
  path: "/_emulator/wait",
  request: { query: WaitQuery },
  responses: { 200: json(WaitResult) },
  failures: ["no-such-contract", "no-such-webhook"],
  cli: { by: "emulator wait-for" },
  examples: [
    { title: "Wait until a contract is executed", query: { contract: "T-12", contract_status: "EXECUTED" } },
    { title: "Wait for three deliveries", query: { outcome: "delivered", count: 3 } },
  ],
});
