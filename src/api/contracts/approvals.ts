import * as z from "zod";
import { defineOperation, json } from "../operation.ts";
import { publicOperation } from "../services.ts";
import { oneOf, timestamp } from "../shapes.ts";
import { activitiesCausedBy } from "./lifecycle.ts";
import { compositeParams } from "./shapes.ts";

const Person = z.strictObject({ id: z.int(), name: z.string(), email: z.string() });

export const requestApprovals = defineOperation({
  id: "approvals.create",
  ...publicOperation,
  summary: "Request approvals of a contract",
  description: "Each approval names one user or one role. With order, they are requested one after another.",
  method: "POST",
  path: "/api/v2.1/public/contracts/approvals/{composite_id}/",
  request: {
    params: compositeParams,
    body: json(
      z.object({
        approvals: z
          .array(
            z
              .object({
                name: z.string().min(1),
                notes: z.string(),
                approver_user_id: z.int().optional(),
                approver_role_id: z.int().optional(),
                order: z.int().min(1).optional(),
              })
              .meta(oneOf("approver_user_id", "approver_role_id")),
          )
          .min(1),
      }),
    ),
  },
  responses: {
    201: json(
      z.array(
        z.strictObject({
          id: z.int(),
          contract_id: z.int(),
          name: z.string(),
          approver_user_id: z.int().optional(),
          approver_role_id: z.int().optional(),
          is_sent: z.boolean(),
          notes: z.string(),
          order: z.int().optional(),
        }),
      ),
    ),
  },
  failures: ["not-found", "forbidden-move", "approvals-in-progress"],
  emits: activitiesCausedBy("request-approval"),
  cli: { command: "contracts approvals create", columns: ["id", "name", "is_sent", "order"] },
  examples: [
    {
      title: "Request an approval by finance",
      params: { composite_id: "T-1" },
      body: { approvals: [{ name: "Finance", notes: "Over 10k", approver_user_id: 12 }] },
    },
  ],
});

const ApprovalStatus = z.enum(["NOT_STARTED", "PENDING", "REJECTED", "SUGGESTED", "APPROVED", "SKIPPED"]);

export const listApprovals = defineOperation({
  id: "approvals.list",
  ...publicOperation,
  summary: "List the approvals of a contract",
  path: "/api/v2.1/public/contracts/approvals/{composite_id}/",
  request: { params: compositeParams },
  responses: {
    200: json(
      z.strictObject({
        results: z.array(
          z.strictObject({
            approval: z.strictObject({
              id: z.int(),
              contract_id: z.int(),
              approval_name: z.string(),
              approval_type: z.enum(["PRE_SEND", "PRE_SIGN", "AD_HOC", "APPROVAL_V5"]),
              org_user: Person.optional(),
              sent_for_approval: z.boolean(),
              last_sent_at: timestamp.optional(),
              notes: z.string(),
              created_by_org_user: Person,
              status: ApprovalStatus,
            }),
            approval_actions: z.array(
              z.strictObject({
                status: z.enum(["APPROVED", "REJECTED", "SUGGESTED", "SKIPPED"]),
                notes: z.string().optional(),
                created: timestamp,
                latest: z.boolean(),
              }),
            ),
          }),
        ),
      }),
    ),
  },
  failures: ["not-found"],
  cli: { command: "contracts approvals list", rows: "results" },
  examples: [{ title: "List pending and completed approvals", params: { composite_id: "T-1" } }],
});
