import * as z from "zod";
import { form, operation, passthrough } from "../operation.ts";
import { router } from "../services.ts";
import { forwardingToOne } from "./failures/index.ts";

const query = z.object({
  index_url_override: z
    .string()
    .nullish()
    .describe("Origin on the seed's allow-list that the page loads its front end from"),
});
const headers = z.object({
  "user-agent": z.string().optional().describe("Browser of the person"),
  "x-forwarded-for": z.string().optional().describe("Its first address counts as the caller's"),
});

export const SignedRequestForm = z.object({
  signed_request: z.string().describe("base64 of the HMAC-SHA256, a period, base64 of the envelope"),
});

export const openCrmB = operation({
  id: "crm-b.open",
  service: router,
  summary: "Open the canvas app with a signed request",
  method: "POST",
  path: "/router/v1/crm_b/",
  auth: "none",
  request: { query, headers, body: form(SignedRequestForm) },
  responses: { 200: passthrough() },
  failures: ["bad-signed-request", "index-url-not-allowed", ...forwardingToOne],
  cli: { command: "crm-b open" },
  basis: "specified",
  examples: [{ title: "Open the app", body: { signed_request: "c2lnbmF0dXJl.ZW52ZWxvcGU=" } }],
});

export const showCrmBCanvas = operation({
  id: "crm-b.canvas",
  service: router,
  summary: "Show the canvas app without a context",
  method: "GET",
  path: "/router/v1/crm_b/",
  auth: "none",
  request: { query, headers },
  responses: { 200: passthrough() },
  failures: ["index-url-not-allowed", ...forwardingToOne],
  cli: { command: "crm-b canvas" },
  basis: "specified",
  examples: [{ title: "Show the page" }],
});
