import * as z from "zod";
import { empty, json, operation } from "../operation.ts";
import { contracts } from "../services.ts";

const HmacKey = z.strictObject({
  hmac_key: z.string().describe("Base64 of the key; decode it before use"),
});

export const showHmacKey = operation({
  id: "webhooks.hmac-key",
  service: contracts,
  summary: "Show the key that signs the workspace's webhooks",
  method: "GET",
  path: "/api/v2.1/public/webhooks/hmac_key/",
  auth: "api-key",
  request: {},
  responses: { 200: json(HmacKey) },
  failures: [],
  cli: { command: "webhooks hmac-key" },
  basis: "public",
  examples: [{ title: "Fetch the key that verifies deliveries" }],
});

export const deleteWebhook = operation({
  id: "webhooks.delete",
  service: contracts,
  summary: "Delete a webhook subscription",
  method: "DELETE",
  path: "/api/v2.1/public/webhooks/{webhook_id}",
  auth: "api-key",
  request: { params: z.object({ webhook_id: z.int().describe("Id of the subscription") }) },
  responses: { 204: empty() },
  failures: ["not-found"],
  cli: { command: "webhooks delete", confirm: "yes" },
  basis: "public",
  examples: [{ title: "Stop deliveries to a receiver", params: { webhook_id: 41 } }],
});
