import * as z from "zod";
import { defineOperation, empty, json } from "../operation.ts";
import { contractOperation, publicOperation } from "../services.ts";
import { dictionary, email, oneOf, timestamp } from "../shapes.ts";
import {
  compositeIdParam,
  compositeParams,
  contractParams,
  contractPermissions,
  contractStatus,
  noEffectNote,
  userScoping,
} from "./shapes.ts";

const Data = z.strictObject({ data: dictionary(z.unknown()) });

export const updateContractData = defineOperation({
  id: "contract-details.update-data",
  ...publicOperation,
  summary: "Change a template contract's data",
  method: "PATCH",
  path: "/api/v2.1/public/contracts/{composite_id}/contract_data",
  request: {
    params: compositeParams,
    body: json(z.object({ data: dictionary(z.unknown()).describe("Answers, by variable") })),
  },
  responses: { 200: json(Data) },
  failures: ["not-found", "contract-data-closed", "contract-data-executed"],
  emits: ["CONTRACT_DATA_UPDATED"],
  cli: { command: "contracts update-data" },
  examples: [{ title: "Change the number of seats", params: { composite_id: "T-1" }, body: { data: { seats: 20 } } }],
});

export const showNotes = defineOperation({
  id: "contract-details.notes",
  ...publicOperation,
  summary: "Show the note on a contract",
  path: "/api/v2.1/public/contracts/{composite_id}/notes",
  request: { params: compositeParams, headers: userScoping },
  responses: { 200: json(z.strictObject({ id: z.int(), text: z.string(), note_tag: z.string().optional() })) },
  failures: ["not-found"],
  cli: { command: "contracts notes show" },
  examples: [{ title: "Read the note", params: { composite_id: "T-1" } }],
});

export const putNote = defineOperation({
  id: "contract-details.put-note",
  ...publicOperation,
  summary: "Write the note on a contract",
  method: "PUT",
  path: "/api/v2.1/public/contracts/{contract_id}/notes/{note_id}",
  request: {
    params: z.object({ contract_id: compositeIdParam, note_id: z.int().describe("ID of the note") }),
    body: json(
      z.object({
        text: z.string().describe("Text of the note"),
        note_tag: z.object({ name: z.string(), id: z.int().optional() }).nullish(),
      }),
    ),
  },
  responses: { 200: json(z.strictObject({ id: z.int(), text: z.string(), note_tag: z.string().optional() })) },
  failures: ["not-found"],
  cli: { command: "contracts notes put" },
  examples: [
    { title: "Leave a note", params: { contract_id: "T-1", note_id: 1 }, body: { text: "Waits for finance" } },
  ],
});

export const setBusinessUser = defineOperation({
  id: "contract-details.business-user",
  ...publicOperation,
  summary: "Set the business owner of a contract",
  method: "PATCH",
  path: "/api/v2.1/public/contracts/{contract_id}/business_user/",
  request: {
    params: contractParams,
    body: json(
      z.object({
        user_id: z.int().describe("ID of the user"),
        update_user_task_on_bu_update: z.boolean().default(true).describe(`Reassign their tasks; ${noEffectNote}`),
      }),
    ),
  },
  responses: { 200: json(z.strictObject({ user_id: z.int(), contract_id: z.int(), type: z.enum(["BUSINESS"]) })) },
  failures: ["not-found", "contract-not-found"],
  cli: { command: "contracts business-user" },
  examples: [{ title: "Assign another business owner", params: { contract_id: 1 }, body: { user_id: 12 } }],
});

export const inviteToContract = defineOperation({
  id: "contract-details.invite",
  ...contractOperation,
  summary: "Invite users, roles and new users to a contract",
  description:
    "Each row names a user, a role or a new user. If rows name the same user, the last permission applies. A new user is invited to the workspace by e-mail. The difference between permissions is not public: each shows the contract.",
  method: "POST",
  path: "/api/v2.1/public/contracts/{contract_id}/invite/",
  request: {
    params: contractParams,
    body: json(
      z.object({
        items: z
          .array(
            z
              .object({
                user_id: z.int().optional().describe("A user"),
                role_id: z.int().optional().describe("A role: all its users"),
                new_user_email: email.optional().describe("A new user, who is invited by e-mail"),
                permission_name: z.enum(contractPermissions),
                note: z.string().optional(),
              })
              .meta(oneOf("user_id", "role_id", "new_user_email")),
          )
          .max(1_000)
          .describe("People to invite with their permissions, at most 1,000 (a limit of the emulator)"),
      }),
    ),
  },
  responses: { 200: empty() },
  failures: ["not-found"],
  cli: { command: "contracts invite" },
  basis: {
    assumed:
      "Path and body are public. Method and response are not: they follow the request for a review (DECISIONS.md, C26).",
  },
  examples: [
    {
      title: "Invite a colleague and a new user",
      params: { contract_id: 1 },
      body: {
        items: [
          { user_id: 12, permission_name: "CONTRACT.READ" },
          { new_user_email: "max@northwind.example", permission_name: "CONTRACT.EDIT", note: "Takes over in May" },
        ],
      },
    },
  ],
});

export const relateContract = defineOperation({
  id: "contract-details.relate",
  ...publicOperation,
  summary: "Relate a contract to another one",
  method: "POST",
  path: "/api/v2.1/public/contracts/{contract_id}/contract_relation/",
  request: {
    params: contractParams,
    body: json(
      z.object({
        related_contract_id: z.int().describe("Number of the other contract"),
        relation_type: z.enum(["CHILD", "ADDENDUM", "AMENDMENT", "PARENT"]).describe("Role of the other contract"),
      }),
    ),
  },
  responses: { 201: json(z.strictObject({ related_contract_id: z.int(), relation_type: z.string() })) },
  failures: ["not-found", "circular-relation"],
  cli: { command: "contracts relate" },
  examples: [
    {
      title: "Relate an amendment",
      params: { contract_id: 1 },
      body: { related_contract_id: 2, relation_type: "AMENDMENT" },
    },
  ],
});

export const showProcessMetrics = defineOperation({
  id: "contract-details.process-metrics",
  ...publicOperation,
  summary: "Show when a contract reached each step",
  path: "/api/v2.1/public/contracts/{contract_id}/process_metrics/",
  request: { params: contractParams },
  responses: {
    200: json(
      z.strictObject({
        contract_status: contractStatus,
        type_of_workflow: z.enum(["TEMPLATE_WORKFLOW", "UPLOAD_WORKFLOW"]),
        pending_with: z.enum(["CREATOR_PARTY", "COUNTER_PARTY", "BOTH"]).nullish(),
        contract_sent_to_cp_datetime: timestamp.nullish(),
        marked_for_signature_datetime: timestamp.nullish(),
        contract_executed_datetime: timestamp.nullish(),
        contract_signed_by_signatory_list: z.array(
          z.strictObject({ is_creator_party: z.boolean(), signed_datetime: timestamp, signatory_email: z.string() }),
        ),
        contract_turns: z.strictObject({ no_of_turns: z.int() }),
      }),
    ),
  },
  failures: ["not-found", "contract-not-found"],
  cli: { command: "contracts process-metrics" },
  examples: [{ title: "Show the times of a contract", params: { contract_id: 1 } }],
});
