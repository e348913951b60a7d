import * as z from "zod";
import { defineOperation, empty, json } from "../operation.ts";
import { publicOperation } from "../services.ts";
import { email, oneOf, optionalString } from "../shapes.ts";
import { activitiesCausedBy, emailDeliveryActivities } from "./lifecycle.ts";
import { compositeParams, contractParams, noEffectNote } from "./shapes.ts";

export const markForExecution = defineOperation({
  id: "execution.mark",
  ...publicOperation,
  summary: "Mark a contract for execution",
  description: "Requests the signatures. Fails while a review is open or an approval is pending.",
  method: "POST",
  path: "/api/v2.1/public/contracts/{composite_id}/mark_for_execution/",
  request: {
    params: compositeParams,
    body: json(
      z.object({ affix_stamp_documents: z.boolean().optional().describe(`Affix stamps; ${noEffectNote}`) }).default({}),
    ),
  },
  responses: { 200: empty() },
  failures: ["not-found", "forbidden-move", "review-open", "approvals-pending", "no-signatories"],
  emits: activitiesCausedBy("mark-for-execution"),
  cli: { command: "contracts mark" },
  examples: [{ title: "Mark a contract after its review", params: { composite_id: "T-1" }, body: {} }],
});

export const unmarkForExecution = defineOperation({
  id: "execution.unmark",
  ...publicOperation,
  summary: "Take a contract out of signature",
  description: "Voids the signatures so far, and returns the contract to REDLINING.",
  method: "POST",
  path: "/api/v2.1/public/contracts/{composite_id}/unmark_for_execution",
  request: { params: compositeParams, body: json(z.object({ note: optionalString.describe("Reason") }).default({})) },
  responses: { 200: empty() },
  failures: ["not-found", "cannot-unmark"],
  emits: activitiesCausedBy("unmark-for-execution"),
  cli: { command: "contracts unmark" },
  examples: [{ title: "Return a contract to REDLINING", params: { composite_id: "T-1" }, body: { note: "New price" } }],
});

export const voidContract = defineOperation({
  id: "execution.void",
  ...publicOperation,
  summary: "Void a contract",
  method: "POST",
  path: "/api/v2.1/public/contracts/{composite_id}/status/void",
  request: { params: compositeParams, body: json(z.object({ note: z.string().min(1).describe("Reason") })) },
  responses: { 204: empty() },
  failures: ["not-found", "forbidden-move", "cannot-void-executed"],
  emits: activitiesCausedBy("void"),
  cli: { command: "contracts void", confirm: "name" },
  examples: [{ title: "Void a contract", params: { composite_id: "T-1" }, body: { note: "Deal lost" } }],
});

export const requestReview = defineOperation({
  id: "execution.request-review",
  ...publicOperation,
  summary: "Ask a user or a role to review a contract",
  method: "POST",
  path: "/api/v2.1/public/contracts/{contract_id}/review_request/",
  request: {
    params: contractParams,
    body: json(
      z
        .object({
          description: z.string().default("").describe("What the reviewer should check"),
          assignee_user_id: z.int().optional().describe("ID of the user; or use assignee_role_id"),
          assignee_role_id: z.int().optional().describe("ID of the role; or use assignee_user_id"),
        })
        .meta(oneOf("assignee_user_id", "assignee_role_id")),
    ),
  },
  responses: { 200: empty() },
  failures: ["not-found", "forbidden-move"],
  emits: activitiesCausedBy("request-review"),
  cli: { command: "contracts request-review" },
  examples: [{ title: "Request a review by legal", params: { contract_id: 1 }, body: { assignee_role_id: 1 } }],
});

export const resendEmail = defineOperation({
  id: "execution.resend-email",
  ...publicOperation,
  summary: "Send the signing e-mail to a signatory again",
  method: "POST",
  path: "/api/v2.1/public/contracts/{composite_id}/signatories/resend_email/",
  request: { params: compositeParams, body: json(z.object({ email_id: email.describe("Address of the signatory") })) },
  responses: { 200: empty() },
  failures: ["not-found", "forbidden-move", "not-a-signatory", "already-signed", "not-their-turn"],
  emits: ["CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT", ...emailDeliveryActivities.signing],
  cli: { command: "contracts resend-email" },
  examples: [{ title: "Remind a signatory", params: { composite_id: "T-1" }, body: { email_id: "jo@acme.example" } }],
});
