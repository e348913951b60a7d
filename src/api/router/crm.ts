import * as z from "zod";
import { defineOperation, form, passthrough } from "../operation.ts";
import { routerOperation } from "../services.ts";
import { optionalString } from "../shapes.ts";
import { singleClusterFailures } from "./failures.ts";

const browserHeaders = z.object({
  "user-agent": optionalString.describe("User agent of the browser"),
  "x-forwarded-for": optionalString.describe("Forwarded addresses; the first one is the caller's"),
});
const headers = browserHeaders.extend({
  "x-crm-a-signature": optionalString.describe("Signature: hex for version 1 and 2, base64 for version 3"),
  "x-crm-a-signature-version": optionalString.describe("v1, v2 or v3"),
  "x-crm-a-signature-timestamp": optionalString.describe("Milliseconds since the epoch; required for version 3"),
});

export const openCrmAIframe = defineOperation({
  id: "crm-a.iframe",
  ...routerOperation,
  summary: "Open the embedded app of crm_a",
  description:
    "Verifies the request signature, then forwards to the owning cluster, which redirects to a contract page or renders the front end.",
  path: "/router/v1/crm_a/iframe",
  request: { headers, query: z.object({ contract_id: optionalString.describe("Contract whose page is opened") }) },
  responses: { 200: passthrough() },
  failures: ["bad-crm-a-signature", ...singleClusterFailures],
  cli: { command: "crm-a iframe" },
  examples: [{ title: "Open a contract", query: { contract_id: "T-17" } }],
});

const CardsResponse = z.strictObject({
  results: z.array(z.looseObject({ objectId: z.int(), title: z.string() })),
  primaryAction: z.looseObject({ type: z.string() }).optional(),
});

export const listCrmACards = defineOperation({
  id: "crm-a.cards",
  ...routerOperation,
  summary: "List the cards that crm_a shows next to a record",
  path: "/router/v1/crm_a/cards",
  request: { headers },
  responses: { 200: passthrough(CardsResponse) },
  failures: ["bad-crm-a-signature", ...singleClusterFailures],
  cli: { command: "crm-a cards", rows: "results", columns: ["objectId", "title"] },
  basis: { assumed: "The input is specified, the response is not (DECISIONS.md, R29)." },
  examples: [{ title: "List the cards" }],
});

const query = z.object({
  index_url_override: z.string().nullish().describe("Origin of the front end, on the allow-list of the seed"),
});
export const SignedRequestForm = z.object({
  signed_request: z.string().describe("Base64 of the HMAC-SHA256, a period, base64 of the envelope"),
});

export const openCrmB = defineOperation({
  id: "crm-b.open",
  ...routerOperation,
  summary: "Open the canvas app with a signed request",
  method: "POST",
  path: "/router/v1/crm_b/",
  request: { query, headers: browserHeaders, body: form(SignedRequestForm) },
  responses: { 200: passthrough() },
  failures: ["bad-signed-request", "index-url-not-allowed", ...singleClusterFailures],
  cli: { command: "crm-b open" },
  examples: [{ title: "Open the app", body: { signed_request: "c2lnbmF0dXJl.ZW52ZWxvcGU=" } }],
});

export const showCrmBCanvas = defineOperation({
  id: "crm-b.canvas",
  ...routerOperation,
  summary: "Show the canvas app without a context",
  path: "/router/v1/crm_b/",
  request: { query, headers: browserHeaders },
  responses: { 200: passthrough() },
  failures: ["index-url-not-allowed", ...singleClusterFailures],
  cli: { command: "crm-b canvas" },
  examples: [{ title: "Show the page" }],
});
