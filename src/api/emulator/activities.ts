import * as z from "zod";
import { activities } from "../activities.ts";
import { assumed } from "../basis.ts";
import { mutuallyExclusive } from "../choices.ts";
import { dictionary } from "../dictionary.ts";
import { json, operation } from "../operation.ts";
import { emulator } from "../services.ts";
import { timestamp } from "../timestamp.ts";
import { receiversMs } from "./shapes/receivers.ts";

export const fireActivity = operation({
  id: "activities.fire",
  service: emulator,
  summary: "Tell the subscriptions of an activity without anything happening",
  description:
    "The contract stays as it is; where there is none, one is made of a template. `data` is added to activity_data; then `overrides` change, `removals` take away and `additions` add what the payload is to have or not to have, by the paths of fields such as counterparties.0.poc_email. One that does not fit is refused, and nobody is told.",
  method: "POST",
  path: "/_emulator/activities",
  auth: "control-token",
  request: {
    body: json(
      mutuallyExclusive(
        z.object({
          activity: z.enum(activities as [string, ...string[]]).describe(`One of the ${activities.length} activities`),
          contract_id: z
            .union([z.int(), z.string()])
            .optional()
            .describe("The contract: 12 or T-12; left out: the newest, and where there is none, one that is made"),
          data: dictionary(z.unknown()).optional().describe("Further keys of activity_data"),
          overrides: dictionary(z.unknown())
            .optional()
            .describe("Other values of fields that the payload has, by path"),
          additions: dictionary(z.unknown())
            .optional()
            .describe("Fields that the payload does not have, or the next item of a list, by path"),
          removals: z.array(z.string()).optional().describe("Paths of fields that the payload has"),
          payload: dictionary(z.unknown())
            .optional()
            .describe("This document instead of the usual payload; it is sent as it is, whatever it says"),
          preview: z.boolean().optional().describe("Answer with the payload, and tell nobody"),
          wait: z.boolean().optional().describe("Answer only when each subscription was tried once"),
        }),
        "payload",
        "data",
      ),
    ),
  },
  responses: {
    200: json(
      z.strictObject({
        activity: z.string(),
        contract_id: z.int(),
        composite_id: z.string(),
        deliveries: z.array(z.int()).describe("Ids of the deliveries, one per subscription that wants the activity"),
        payload: dictionary(z.unknown()).optional().describe("What would be sent; with preview alone"),
      }),
    ),
  },
  longestMs: receiversMs,
  failures: ["no-such-contract", "no-contract-yet", "no-such-field", "field-is-there"],
  emits: activities,
  cli: { by: "webhooks trigger" },
  basis: assumed("The control plane is the emulator's own (DECISIONS.md, C23)."),
  examples: [{ title: "An e-mail was opened", body: { activity: "SIGNING_EMAIL_OPENED", contract_id: "T-1" } }],
});

export const listActivities = operation({
  id: "activities.list",
  service: emulator,
  summary: "List activities, with or without a webhook for them",
  description: "The newest 10,000 activities are kept.",
  method: "GET",
  path: "/_emulator/activities",
  auth: "control-token",
  request: {},
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
  failures: [],
  cli: {
    command: "emulator activities",
    columns: ["workspace_id", { name: "workspace", cut: 1 }, "activity", "count", "last_at"],
  },
  basis: assumed("The control plane is the emulator's own."),
  examples: [{ title: "What might webhooks have told of?" }],
});
