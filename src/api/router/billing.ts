import * as z from "zod";
import { defineOperation, json, passthrough } from "../operation.ts";
import { routerOperation } from "../services.ts";
import { dictionary } from "../shapes.ts";
import { singleClusterFailures } from "./failures.ts";

export const receiveBillingEvent = defineOperation({
  id: "billing.event",
  ...routerOperation,
  summary: "Forward a billing event to the cluster of its customer",
  description:
    "The customer ID has the form {cluster_id}_{workspace_id}. An emulated cluster stores the plan of the workspace, and rejects its API requests while the subscription is paused or cancelled.",
  method: "POST",
  path: "/router/v1/billing/webhook",
  auth: "basic",
  request: { body: json(dictionary(z.unknown())) },
  responses: { 200: passthrough() },
  failures: ["not-authenticated", "no-customer-id", "unknown-cluster", ...singleClusterFailures],
  unknownIsIn: "router clusters",
  cli: { command: "billing event" },
  examples: [
    {
      title: "Report a new subscription",
      body: {
        event_type: "subscription_created",
        content: { customer: { id: "eu-1_1" }, subscription: { plan_id: "business", status: "active" } },
      },
    },
  ],
});
