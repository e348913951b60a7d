import * as z from "zod";
import { json, operation } from "../operation.ts";
import { router } from "../services.ts";

export const HealthCheckResponse = z.strictObject({
  database: z.boolean().describe("Whether the store can write"),
});

export const checkHealth = operation({
  id: "health.show",
  service: router,
  summary: "Check the health of the routing service",
  method: "GET",
  path: "/",
  auth: "none",
  request: {},
  responses: { 200: json(HealthCheckResponse) },
  failures: [],
  cli: { command: "router health" },
  basis: "specified",
  examples: [{ title: "Check the router" }],
});
