import * as z from "zod";
import { createAssumption } from "../basis.ts";
import { activitiesCausedBy } from "../contracts/lifecycle.ts";
import { ContractStatus, contractPermissions } from "../contracts/shapes.ts";
import { defineOperation, json } from "../operation.ts";
import { emulator } from "../services.ts";
import { dictionary, email, timestamp } from "../shapes.ts";
import { defineItemPage, pageQuery } from "./shapes.ts";

const actionBasis = createAssumption(
  "Actions of people in the application have no public route. The control plane is part of the emulator.",
);

const params = z.object({ id: z.string().describe("Contract: 12 or T-12") });

/** The acting user and an optional note. */
const Act = z
  .object({
    email: email
      .optional()
      .describe("E-mail address of the person (default: the next person, or the contract's owner)"),
    note: z.string().optional().describe("Note of the person"),
  })
  .default({});

/** The contract after an action. */
export const MovedContract = z.strictObject({
  contract_id: z.int(),
  composite_id: z.string(),
  contract_status: ContractStatus,
  contract_name: z.string(),
});

const shared = { service: emulator, method: "POST", auth: "control-token", basis: actionBasis } as const;
const request = { params, body: json(Act) };
const responses = { 200: json(MovedContract) };

export const signContract = defineOperation({
  ...shared,
  id: "emulator-contracts.sign",
  summary: "Sign a contract, as a signatory",
  description: "Without an email, the next signatory signs. The last signature executes the contract.",
  path: "/_emulator/contracts/{id}/sign",
  request,
  responses,
  failures: ["no-such-contract", "forbidden-move", "not-a-signatory", "already-signed", "not-their-turn"],
  emits: activitiesCausedBy("sign", "all-signed"),
  cli: { command: "emulator sign" },
  examples: [{ title: "Sign as one signatory", params: { id: "T-1" }, body: { email: "jo@acme.example" } }],
});

export const declineContract = defineOperation({
  ...shared,
  id: "emulator-contracts.decline",
  summary: "Decline to sign a contract, as a signatory",
  description: "A template contract returns to DRAFT, third-party paper to REDLINING.",
  path: "/_emulator/contracts/{id}/decline",
  request,
  responses,
  failures: ["no-such-contract", "forbidden-move", "not-a-signatory", "already-signed", "not-their-turn"],
  emits: activitiesCausedBy("decline"),
  cli: { command: "emulator decline" },
  examples: [{ title: "Decline with a reason", params: { id: "T-1" }, body: { note: "Wrong amount" } }],
});

export const completeReview = defineOperation({
  ...shared,
  id: "emulator-contracts.complete-review",
  summary: "Complete the open review of a contract",
  description:
    "Completes the internal review first. When the counterparty's review is complete and no approval is pending, signature begins.",
  path: "/_emulator/contracts/{id}/complete-review",
  request,
  responses,
  failures: ["no-such-contract", "forbidden-move", "no-open-review", "no-signatories"],
  emits: activitiesCausedBy("complete-review"),
  cli: { command: "emulator complete-review" },
  examples: [{ title: "Mark a contract after its review", params: { id: "T-1" }, body: {} }],
});

export const approveContract = defineOperation({
  ...shared,
  id: "emulator-contracts.approve",
  summary: "Approve the next pending approval of a contract",
  path: "/_emulator/contracts/{id}/approve",
  request,
  responses,
  failures: ["no-such-contract", "forbidden-move", "no-pending-approval"],
  emits: activitiesCausedBy("approve"),
  cli: { command: "emulator approve" },
  examples: [{ title: "Approve as finance", params: { id: "T-1" }, body: { email: "ben@northwind.example" } }],
});

export const voidContractAsOwner = defineOperation({
  ...shared,
  id: "emulator-contracts.void",
  summary: "Void a contract, as a person in the application",
  path: "/_emulator/contracts/{id}/void",
  request,
  responses,
  failures: ["no-such-contract", "forbidden-move", "cannot-void-executed"],
  emits: activitiesCausedBy("void"),
  cli: { command: "emulator void" },
  examples: [{ title: "Void a contract", params: { id: "T-1" }, body: { note: "Deal lost" } }],
});

export const holdContract = defineOperation({
  ...shared,
  id: "emulator-contracts.hold",
  summary: "Put a contract on hold",
  path: "/_emulator/contracts/{id}/hold",
  request,
  responses,
  failures: ["no-such-contract", "forbidden-move"],
  emits: activitiesCausedBy("hold"),
  cli: { command: "emulator hold" },
  examples: [{ title: "Put a contract on hold", params: { id: "T-1" }, body: {} }],
});

export const resumeContract = defineOperation({
  ...shared,
  id: "emulator-contracts.resume",
  summary: "Resume a contract that is on hold",
  description:
    "Restores the status from before the hold. E-mails that were not delivered by then are reported as delivered.",
  path: "/_emulator/contracts/{id}/resume",
  request,
  responses,
  failures: ["no-such-contract", "forbidden-move"],
  emits: [
    ...activitiesCausedBy("resume"),
    "MAILER_EMAIL_EVENT",
    "SIGNING_EMAIL_DELIVERED",
    "REDLINING_EMAIL_DELIVERED",
  ],
  cli: { command: "emulator resume" },
  examples: [{ title: "Go on", params: { id: "T-1" }, body: {} }],
});

export const deleteContract = defineOperation({
  ...shared,
  id: "emulator-contracts.delete",
  summary: "Delete a contract",
  description: "The contract API responds 404 for it from then on.",
  path: "/_emulator/contracts/{id}/delete",
  request,
  responses,
  failures: ["no-such-contract"],
  emits: activitiesCausedBy("delete"),
  cli: { command: "emulator delete" },
  examples: [{ title: "Delete a contract", params: { id: "T-1" }, body: {} }],
});

const detailsBasis = createAssumption(
  "Only the application shows and changes it, no public route does. The control plane is part of the emulator.",
);

const Named = z.strictObject({ id: z.int(), name: z.string() });

export const listControlContracts = defineOperation({
  id: "emulator-contracts.list",
  service: emulator,
  summary: "List the contracts of all workspaces, newest first",
  description: "Includes deleted contracts, with their last status.",
  method: "GET",
  path: "/_emulator/contracts",
  auth: "control-token",
  request: {
    query: z.object(pageQuery),
  },
  responses: {
    200: json(
      defineItemPage(
        z.strictObject({
          ...MovedContract.shape,
          cluster_id: z.string(),
          workspace_id: z.int(),
          created_at: timestamp,
          updated_at: timestamp,
          deleted_at: timestamp.nullable(),
        }),
      ),
    ),
  },
  failures: [],
  cli: {
    command: "emulator contracts",
    rows: "items",
    columns: ["composite_id", { name: "contract_name", cut: 1 }, "contract_status", "cluster_id", "workspace_id"],
  },
  basis: createAssumption(
    "The contract API lists the contracts of one workspace. The control plane is part of the emulator.",
  ),
  examples: [{ title: "List all contracts" }],
});

export const showContract = defineOperation({
  id: "emulator-contracts.show",
  service: emulator,
  summary: "Show a contract with data that the contract API omits",
  description:
    "Shows the entity, counterparties, reviewers and invited people, and the link of each person. A link opens the page on which the person reads the contract and can sign, decline, review, approve or comment.",
  method: "GET",
  path: "/_emulator/contracts/{id}",
  auth: "control-token",
  request: { params },
  responses: {
    200: json(
      z.strictObject({
        contract_id: z.int(),
        composite_id: z.string(),
        contract_status: ContractStatus,
        contract_name: z.string(),
        entity: z.strictObject({ reference_id: z.string(), name: z.string() }).nullable(),
        counterparties: z.array(
          z.strictObject({
            counterparty_id: z.int(),
            name: z.string(),
            is_individual: z.boolean(),
            organization_type: z.string().nullable(),
            organization_details: dictionary(z.unknown()).nullable(),
          }),
        ),
        reviews: z.array(
          z.strictObject({
            by: z.enum(["internal", "counterparty"]),
            user: Named.extend({ email: z.string() }).nullable(),
            role: Named.nullable(),
            description: z.string(),
            requested_at: timestamp,
            completed_at: timestamp.nullable(),
          }),
        ),
        access: z
          .array(
            z.strictObject({
              user: Named.extend({ email: z.string() }).nullable(),
              role: Named.nullable(),
              permission_name: z.enum(contractPermissions),
              note: z.string().nullable(),
              invited_at: timestamp,
            }),
          )
          .describe("People invited by svc contracts invite"),
        people: z.array(
          z.strictObject({
            name: z.string(),
            email: z.string(),
            link: z.string().describe("Link to the person's page; it authorizes to act as that person"),
            turn: z.array(z.enum(["sign", "review", "approve"])).describe("Pending actions of the person"),
            signed_at: timestamp
              .nullable()
              .describe("Time of the signature; null if the current version is not signed"),
          }),
        ),
      }),
    ),
  },
  failures: ["no-such-contract"],
  cli: { command: "emulator show-contract" },
  basis: detailsBasis,
  examples: [{ title: "Show the reviewers and their links", params: { id: "T-1" } }],
});

export const replaceEntity = defineOperation({
  id: "emulator-contracts.entity",
  service: emulator,
  summary: "Set the workspace entity of a contract",
  method: "POST",
  path: "/_emulator/contracts/{id}/entity",
  auth: "control-token",
  request: {
    params,
    body: json(
      z.object({
        reference_id: z.string().min(1).describe("Reference id of the entity: NW-US"),
        email: email.optional().describe("E-mail address of the person (default: the contract's owner)"),
      }),
    ),
  },
  responses: { 200: json(MovedContract) },
  failures: ["no-such-contract", "no-such-entity", "entity-not-editable"],
  emits: ["CONTRACT_ENTITY_UPDATED"],
  cli: { command: "emulator set-entity" },
  basis: detailsBasis,
  examples: [{ title: "Assign the American entity", params: { id: "T-1" }, body: { reference_id: "NW-US" } }],
});
