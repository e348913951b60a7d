import * as z from "zod";
import { activities } from "../activities.ts";
import { defineOperation, empty, json } from "../operation.ts";
import { publicOperation, specifiedOperation } from "../services.ts";
import { dictionary } from "../shapes.ts";
import { OrgUser } from "./shapes.ts";

export const SubscriptionRequest = z.object({
  title: z.string().min(1).describe("Name of the webhook"),
  url: z.string().min(1).describe("URL of the receiver: https, or http on this machine"),
  only_for_activities: z.array(z.enum(activities)).min(1).describe("Activity to subscribe to"),
  description: z.string().nullable().optional().describe("Purpose of the webhook"),
  custom_headers: dictionary(z.string()).nullable().optional().describe("Headers named X-…, sent with each delivery"),
});

export const Subscription = z.strictObject({
  id: z.int(),
  title: z.string(),
  only_for_activities: z.array(z.enum(activities)),
  url: z.string(),
  created_by_user: OrgUser,
  description: z.string().nullish(),
  custom_headers: dictionary(z.string()),
  status: z.enum(["ACTIVE", "DISABLED_BY_USER", "DISABLED_BY_ERROR"]),
});

export const createWebhook = defineOperation({
  id: "webhooks.create",
  ...specifiedOperation,
  summary: "Subscribe a receiver to activities",
  method: "POST",
  path: "/api/v2.1/public/webhooks/",
  request: { body: json(SubscriptionRequest) },
  responses: { 201: json(Subscription) },
  failures: ["developer-settings-required"],
  cli: {
    command: "webhooks create",
    columns: ["id", { name: "title", shrinkPriority: 2 }, "status", { name: "url", shrinkPriority: 1, omits: "start" }],
  },
  examples: [
    {
      title: "Notify a receiver of signatures",
      body: {
        title: "Signatures",
        url: "https://receiver.example/hooks",
        only_for_activities: ["CONTRACT_SIGNED", "CONTRACT_EXECUTED"],
      },
    },
  ],
});

export const showHmacKey = defineOperation({
  id: "webhooks.hmac-key",
  ...publicOperation,
  summary: "Show the signing key of the workspace's webhooks",
  path: "/api/v2.1/public/webhooks/hmac_key/",
  responses: {
    200: json(z.strictObject({ hmac_key: z.string().describe("Base64 of the key; decode it before use") })),
  },
  cli: { command: "webhooks hmac-key" },
  examples: [{ title: "Fetch the key that verifies deliveries" }],
});

export const deleteWebhook = defineOperation({
  id: "webhooks.delete",
  ...publicOperation,
  summary: "Delete a webhook",
  method: "DELETE",
  path: "/api/v2.1/public/webhooks/{webhook_id}",
  request: { params: z.object({ webhook_id: z.int().describe("ID of the webhook") }) },
  responses: { 204: empty() },
  failures: ["developer-settings-required", "webhook-not-found", "not-found"],
  cli: { command: "webhooks delete", confirm: "yes" },
  examples: [{ title: "Stop deliveries to a receiver", params: { webhook_id: 1 } }],
});

export const retriggerWebhooks = defineOperation({
  id: "webhooks.re-trigger",
  ...publicOperation,
  summary: "Resend the last webhook delivery of each contract",
  method: "POST",
  path: "/api/v2.1/public/contracts/webhooks/re_trigger_latest/",
  request: {
    body: json(
      z.object({ contract_ids: z.array(z.int()).min(1).describe("Numbers of the contracts, without T- or H-") }),
    ),
  },
  responses: { 200: json(z.strictObject({ message: z.string() })) },
  failures: ["nothing-to-re-trigger"],
  unknownIsIn: "contracts list",
  cli: { command: "webhooks re-trigger" },
  examples: [{ title: "Resend after an outage of the receiver", body: { contract_ids: [1, 2] } }],
});
