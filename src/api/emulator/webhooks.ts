import * as z from "zod";
import { activities } from "../activities.ts";
import { defineOperation, json } from "../operation.ts";
import { controlOperation } from "../services.ts";
import { nullableString, timestamp } from "../shapes.ts";
import { ListedDelivery } from "./deliveries.ts";
import { receiverTimeoutMs } from "./shapes.ts";

const basis = { assumed: "The real service shows and switches webhooks in its application only." };

export const Webhook = z.strictObject({
  id: z.int(),
  cluster_id: z.string(),
  workspace_id: z.int(),
  workspace: z.string().describe("Name of the workspace"),
  title: z.string(),
  url: z.string(),
  only_for_activities: z.array(z.enum(activities)),
  custom_headers: z.array(z.string()).describe("Names of the headers; the values may be secrets"),
  status: z.enum(["ACTIVE", "DISABLED_BY_USER", "DISABLED_BY_ERROR"]),
  failure_count: z.int().describe("Failed attempts since the last 2xx; the sixth disables the webhook"),
  retry_schedule: z.array(z.string()).describe("Delays before the retries of a delivery: 5m, 10m"),
  disabled_at: timestamp.nullable().describe("Time of the change; null if it is active or the time is unknown"),
  disabled_by: nullableString.describe("Cause of the change, for svc emulator trace: request:12, attempt:3.6"),
  forbidden: nullableString.describe("Reason why its address is not allowed; null if it is allowed"),
  created_at: timestamp,
});

const params = z.object({ id: z.int().describe("ID of the webhook") });
const columns = [
  "id",
  { name: "workspace", shrinkPriority: 1 },
  { name: "title", shrinkPriority: 2 },
  { name: "status", purpose: true },
  "failure_count",
  { name: "url", shrinkPriority: 1, minWidth: 24, omits: "start" },
] as const;

export const listControlWebhooks = defineOperation({
  id: "emulator-webhooks.list",
  ...controlOperation,
  summary: "List the webhooks of all workspaces with their failures",
  path: "/_emulator/webhooks",
  responses: { 200: json(z.array(Webhook)) },
  cli: { command: "emulator webhooks", columns },
  basis,
  examples: [{ title: "List the webhooks" }],
});

export const enableWebhook = defineOperation({
  id: "emulator-webhooks.enable",
  ...controlOperation,
  summary: "Enable a webhook and reset its failure counter",
  method: "POST",
  path: "/_emulator/webhooks/{id}/enable",
  request: { params },
  responses: { 200: json(Webhook) },
  failures: ["no-such-webhook"],
  cli: { command: "emulator webhooks enable", columns },
  basis,
  examples: [{ title: "Enable a webhook after a fix", params: { id: 1 } }],
});

export const disableWebhook = defineOperation({
  id: "emulator-webhooks.disable",
  ...controlOperation,
  summary: "Disable a webhook, as a person in the application",
  method: "POST",
  path: "/_emulator/webhooks/{id}/disable",
  request: { params },
  responses: { 200: json(Webhook) },
  failures: ["no-such-webhook"],
  cli: { command: "emulator webhooks disable", columns },
  basis,
  examples: [{ title: "Pause a webhook", params: { id: 1 } }],
});

export const resendToWebhook = defineOperation({
  id: "emulator-webhooks.resend",
  ...controlOperation,
  summary: "Resend the undelivered deliveries of a webhook",
  description:
    "Resends deliveries that failed finally, were skipped or will be skipped, or are waiting for a retry. Resends one at a time, and stops at the first failure, after 100 deliveries, or after about 20 seconds. The next request resends the rest. The webhook can be disabled.",
  method: "POST",
  path: "/_emulator/webhooks/{id}/resend",
  request: { params },
  responses: {
    200: json(
      z.strictObject({
        items: z.array(ListedDelivery).describe("Resent deliveries with their results"),
        remaining: z.int().describe("Number of undelivered deliveries"),
      }),
    ),
  },
  // The last attempt starts within 20 seconds.
  maxDurationMs: receiverTimeoutMs + 20_000,
  failures: ["no-such-webhook"],
  cli: {
    command: "emulator webhooks resend",
    rows: "items",
    columns: [
      "id",
      { name: "activity", shrinkPriority: 1 },
      { name: "composite_id", shrinkPriority: 2 },
      "status_text",
    ],
  },
  basis,
  examples: [{ title: "Resend after a fix", params: { id: 1 } }],
});
