import * as z from "zod";
import { form, operation, passthrough } from "../operation.ts";
import { router } from "../services.ts";
import { forwardingToOne } from "./failures/index.ts";

const query = z.object({
  index_url_override: z.string().nullish().describe("Origin of the front end, on the allow-list of the seed"),
});
const headers = z.object({
  "user-agent": z.string().optional().describe("User agent of the browser"),
  "x-forwarded-for": z.string().optional().describe("Forwarded addresses; the first one is the caller's"),
});

export const SignedRequestForm = z.object({
  signed_request: z.string().describe("Base64 of the HMAC-SHA256, a period, base64 of the envelope"),
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
