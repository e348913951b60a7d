import * as z from "zod";
import { activities } from "../activities.ts";
import { assumed } from "../basis.ts";
import { ContractStatus } from "../contracts/shapes/records.ts";
import { json, operation } from "../operation.ts";
import { emulator } from "../services.ts";
import { timestamp } from "../timestamp.ts";
import { DeliveryOutcome } from "./deliveries.ts";
import { contractFilter } from "./shapes/contract-filter.ts";

const Awaited = z
  .object({
    activity: z
      .enum(activities)
      .optional()
      .describe("Until this activity has happened; with outcome: only of this one"),
    outcome: DeliveryOutcome.optional().describe("Until a delivery has this outcome"),
    contract_status: ContractStatus.optional().describe("Until the contract has this status"),
    contract: contractFilter,
    webhook: z.int().optional().describe("With outcome: only deliveries to this subscription"),
    count: z.int().min(1).max(1_000).default(1).describe("Until there are so many"),
    since: z.iso
      .datetime({ offset: true })
      .optional()
      .describe("Only what happened at this virtual time or later; left out: what has happened already counts too"),
    timeout_ms: z.int().min(0).max(600_000).default(30_000).describe("How long at most, on the wall clock"),
  })
  .superRefine((given, context) => {
    const wrong = (message: string) => context.addIssue({ code: "custom", message, path: [] });
    if (!given.activity && !given.outcome && !given.contract_status) {
      wrong("one of activity, outcome and contract_status must be given");
    }
    if (given.contract_status && (given.activity || given.outcome)) {
      wrong("contract_status cannot be awaited together with activity or outcome");
    }
    if (given.contract_status && given.contract === undefined) wrong("contract_status needs contract");
    if (given.webhook !== undefined && !given.outcome) wrong("webhook needs outcome");
  });

const contractNamed = {
  contract_id: z.int().nullable(),
  composite_id: z.string().nullable().describe("The same as commands take it: T-12 or H-12"),
};

const Met = z.strictObject({
  reached: z.boolean().describe("False: the time was over first"),
  now: timestamp.describe("Virtual time"),
  activities: z
    .array(z.strictObject({ activity: z.string(), ...contractNamed, at: timestamp }))
    .describe("Those waited for, newest first; when it was not reached, the last ones that happened instead"),
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
    .describe("Those waited for, newest first; when it was not reached, the last ones with another outcome instead"),
  contract: z
    .strictObject({ contract_id: z.int(), composite_id: z.string(), contract_status: ContractStatus })
    .nullable()
    .describe("The contract as it is, where its status is waited for"),
});

export const wait = operation({
  id: "emulator.wait",
  service: emulator,
  summary: "Wait for an activity, a delivery or a contract status",
  description: "Does not advance the clock: on a manual clock, advance it in another terminal.",
  method: "GET",
  path: "/_emulator/wait",
  auth: "control-token",
  request: { query: Awaited },
  responses: { 200: json(Met) },
  failures: ["no-such-contract", "no-such-webhook"],
  cli: { by: "emulator wait-for" },
  basis: assumed("The control plane is the emulator's own."),
  examples: [
    { title: "Until it is executed", query: { contract: "T-12", contract_status: "EXECUTED" } },
    { title: "Until three deliveries got through", query: { outcome: "delivered", count: 3 } },
  ],
});
