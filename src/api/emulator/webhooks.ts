import * as z from "zod";
import { activities } from "../activities.ts";
import { assumed } from "../basis.ts";
import { json, operation } from "../operation.ts";
import { emulator } from "../services.ts";
import { timestamp } from "../timestamp.ts";
import { ListedDelivery } from "./deliveries.ts";
import { receiversMs } from "./shapes/receivers.ts";

const ours = assumed("The real service shows and switches subscriptions in its application only.");

const Webhook = z.strictObject({
  id: z.int(),
  cluster_id: z.string(),
  workspace_id: z.int(),
  workspace: z.string().describe("Name of the workspace"),
  title: z.string(),
  url: z.string(),
  only_for_activities: z.array(z.enum(activities)),
  custom_headers: z.array(z.string()).describe("Their names; the values may be secrets"),
  status: z.enum(["ACTIVE", "DISABLED_BY_USER", "DISABLED_BY_ERROR"]),
  failure_count: z.int().describe("Attempts without 2xx since the last 2xx; the sixth disables"),
  disabled_at: timestamp.nullable().describe("Null: it is active, or nobody knows since when"),
  disabled_by: z.string().nullable().describe("What disabled it, for svc emulator trace: request:12, attempt:3.6"),
  forbidden: z.string().nullable().describe("Why nothing is ever sent to its address; null: it may be"),
  created_at: timestamp,
});

const params = z.object({ id: z.int().describe("Id of the subscription") });
const columns = [
  "id",
  { name: "workspace", cut: 1 },
  { name: "title", cut: 2 },
  { name: "status", purpose: true },
  "failure_count",
  { name: "url", cut: 1, least: 24, omits: "start" },
] as const;

export const listControlWebhooks = operation({
  id: "emulator-webhooks.list",
  service: emulator,
  summary: "List the webhooks of all workspaces with their failures",
  method: "GET",
  path: "/_emulator/webhooks",
  auth: "control-token",
  request: {},
  responses: { 200: json(z.array(Webhook)) },
  failures: [],
  cli: { command: "emulator webhooks", columns },
  basis: ours,
  examples: [{ title: "Which subscriptions are disabled?" }],
});

export const enableWebhook = operation({
  id: "emulator-webhooks.enable",
  service: emulator,
  summary: "Enable a webhook and reset its failure counter",
  method: "POST",
  path: "/_emulator/webhooks/{id}/enable",
  auth: "control-token",
  request: { params },
  responses: { 200: json(Webhook) },
  failures: ["no-such-webhook"],
  cli: { command: "emulator webhooks enable", columns },
  basis: ours,
  examples: [{ title: "After the receiver is repaired", params: { id: 1 } }],
});

export const disableWebhook = operation({
  id: "emulator-webhooks.disable",
  service: emulator,
  summary: "Disable a webhook, as a person in the application",
  method: "POST",
  path: "/_emulator/webhooks/{id}/disable",
  auth: "control-token",
  request: { params },
  responses: { 200: json(Webhook) },
  failures: ["no-such-webhook"],
  cli: { command: "emulator webhooks disable", columns },
  basis: ours,
  examples: [{ title: "Pause a receiver", params: { id: 1 } }],
});

export const resendToWebhook = operation({
  id: "emulator-webhooks.resend",
  service: emulator,
  summary: "Resend the undelivered deliveries of a webhook",
  description:
    "Sends deliveries that failed for the last time, were skipped or will be skipped, and those that wait for a retry. Sends them one after another, and stops when one fails, after a hundred, or after about twenty seconds. The next call sends the rest. The webhook need not be enabled.",
  method: "POST",
  path: "/_emulator/webhooks/{id}/resend",
  auth: "control-token",
  request: { params },
  responses: {
    200: json(
      z.strictObject({
        items: z.array(ListedDelivery).describe("Those that were sent, each with what came of it"),
        left: z.int().describe("How many have not arrived still"),
      }),
    ),
  },
  // The last one begins within twenty seconds.
  longestMs: receiversMs + 20_000,
  failures: ["no-such-webhook"],
  cli: {
    command: "emulator webhooks resend",
    rows: "items",
    columns: ["id", { name: "activity", cut: 1 }, { name: "composite_id", cut: 2 }, "standing"],
  },
  basis: ours,
  examples: [{ title: "Once its receiver is repaired", params: { id: 1 } }],
});
