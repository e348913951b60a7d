import * as z from "zod";
import { activities } from "../activities.ts";
import { defineOperation, json } from "../operation.ts";
import { controlOperation } from "../services.ts";
import { createFieldIssue, dictionary, timestamp } from "../shapes.ts";
import { receiverTimeoutMs } from "./shapes.ts";

export const fireActivity = defineOperation({
  id: "activities.fire",
  ...controlOperation,
  summary: "Send a test webhook to all subscribers of an activity",
  description:
    "The contract is not changed; without one, a contract is created from a template. `data` is added to activity_data. Then `overrides` change, `removals` remove and `additions` add fields of the payload, by paths such as counterparties.0.poc_email. If a path does not match the payload, the request fails and no webhook is sent.",
  method: "POST",
  path: "/_emulator/activities",
  request: {
    body: json(
      z
        .object({
          activity: z.enum(activities as [string, ...string[]]).describe(`One of the ${activities.length} activities`),
          contract_id: z
            .union([z.int(), z.string()])
            .optional()
            .describe("Contract: 12 or T-12 (default: the newest one, or a new one)"),
          webhook: z
            .int()
            .optional()
            .describe("Send it to this webhook alone, about a contract of its workspace (default: all subscribers)"),
          data: dictionary(z.unknown()).optional().describe("Additional keys of activity_data"),
          overrides: dictionary(z.unknown()).optional().describe("New values of fields of the payload, by path"),
          additions: dictionary(z.unknown())
            .optional()
            .describe("Additional fields of the payload, or next items of a list, by path"),
          removals: z.array(z.string()).optional().describe("Paths of fields to remove from the payload"),
          payload: dictionary(z.unknown())
            .optional()
            .describe("Document to send instead of the usual payload; it is not validated"),
          preview: z.boolean().optional().describe("Return the payload without sending it"),
          wait: z
            .boolean()
            .optional()
            .describe(
              "Respond after one attempt for each webhook. If there is no webhook, the request fails and nothing is stored",
            ),
        })
        .refine(
          ({ payload, data }) => payload === undefined || data === undefined,
          createFieldIssue("{data} cannot be used with {payload}"),
        )
        .meta({ not: { required: ["payload", "data"] } }),
    ),
  },
  responses: {
    200: json(
      z.strictObject({
        activity: z.string(),
        contract_id: z.int(),
        composite_id: z.string(),
        deliveries: z
          .array(z.int())
          .describe("IDs of the deliveries, one for each webhook that is subscribed to the activity; [] with preview"),
        payload: dictionary(z.unknown()).optional().describe("Payload that would be sent; only with preview"),
        is_new_contract: z
          .literal(true)
          .optional()
          .describe("Only with preview: true if the contract does not exist yet"),
      }),
    ),
  },
  maxDurationMs: receiverTimeoutMs,
  failures: [
    "no-such-contract",
    "no-such-webhook",
    "no-contract-or-template",
    "no-such-field",
    "field-exists",
    "no-subscriber",
  ],
  emits: activities,
  cli: { by: "webhooks trigger" },
  basis: { assumed: "The control plane is part of the emulator (DECISIONS.md, C23)." },
  examples: [{ title: "Report an opened e-mail", body: { activity: "SIGNING_EMAIL_OPENED", contract_id: "T-1" } }],
});

export const listActivities = defineOperation({
  id: "activities.list",
  ...controlOperation,
  summary: "List activities, with or without a webhook for them",
  description: "The newest 10,000 activities are retained.",
  path: "/_emulator/activities",
  responses: {
    200: json(
      z.array(
        z.strictObject({
          workspace_id: z.int(),
          workspace: z.string().describe("Name of the workspace"),
          activity: z.enum(activities),
          count: z.int(),
          first_at: timestamp,
          last_at: timestamp,
        }),
      ),
    ),
  },
  cli: {
    command: "emulator activities",
    columns: ["workspace_id", { name: "workspace", shrinkPriority: 1 }, "activity", "count", "last_at"],
  },
  examples: [{ title: "List all activities" }],
});
