import * as z from "zod";
import { activitiesCausedBy } from "../contracts/lifecycle.ts";
import { contractPermissions, contractStatus } from "../contracts/shapes.ts";
import { defineOperation, json } from "../operation.ts";
import { controlOperation } from "../services.ts";
import { dictionary, email, optionalString, timestamp } from "../shapes.ts";
import { defineItemPage, pageQuery } from "./shapes.ts";

const actionBasis = {
  assumed: "Actions of people in the application have no public route. The control plane is part of the emulator.",
};

const params = z.object({ id: z.string().describe("Contract: 12 or T-12") });

/** The acting user and an optional note. */
const Act = z
  .object({
    email: email
      .optional()
      .describe("E-mail address of the person (default: the next person, or the contract's owner)"),
    note: optionalString.describe("Note of the person"),
  })
  .default({});

/** The contract after an action. */
export const MovedContract = z.strictObject({
  contract_id: z.int(),
  composite_id: z.string(),
  contract_status: contractStatus,
  contract_name: z.string(),
});

/** Returns the shared parts of an action of a person on a contract. */
const defineContractAction = <const Verb extends string, Body extends z.ZodType>(
  verb: Verb,
  body: Body,
  basis = actionBasis,
) =>
  ({
    ...controlOperation,
    id: `emulator-contracts.${verb}`,
    method: "POST",
    path: `/_emulator/contracts/{id}/${verb}`,
    request: { params, body: json(body) },
    responses: { 200: json(MovedContract) },
    cli: { command: `emulator ${verb}` },
    basis,
  }) as const;

export const signContract = defineOperation({
  ...defineContractAction("sign", Act),
  summary: "Sign a contract, as a signatory",
  description: "Without an email, the next signatory signs. The last signature executes the contract.",
  failures: ["no-such-contract", "forbidden-move", "not-a-signatory", "already-signed", "not-their-turn"],
  emits: activitiesCausedBy("sign", "all-signed"),
  examples: [{ title: "Sign as one signatory", params: { id: "T-1" }, body: { email: "jo@acme.example" } }],
});

export const declineContract = defineOperation({
  ...defineContractAction("decline", Act),
  summary: "Decline to sign a contract, as a signatory",
  description: "A template contract returns to DRAFT, third-party paper to REDLINING.",
  failures: ["no-such-contract", "forbidden-move", "not-a-signatory", "already-signed", "not-their-turn"],
  emits: activitiesCausedBy("decline"),
  examples: [{ title: "Decline with a reason", params: { id: "T-1" }, body: { note: "Wrong amount" } }],
});

export const completeReview = defineOperation({
  ...defineContractAction("complete-review", Act),
  summary: "Complete the open review of a contract",
  description:
    "Completes the internal review first. When the counterparty's review is complete and no approval is pending, signature begins.",
  failures: ["no-such-contract", "forbidden-move", "no-open-review", "no-signatories"],
  emits: activitiesCausedBy("complete-review"),
  examples: [{ title: "Complete the open review", params: { id: "T-1" }, body: {} }],
});

export const approveContract = defineOperation({
  ...defineContractAction("approve", Act),
  summary: "Approve the next pending approval of a contract",
  failures: ["no-such-contract", "forbidden-move", "no-pending-approval"],
  emits: activitiesCausedBy("approve"),
  examples: [{ title: "Approve as finance", params: { id: "T-1" }, body: { email: "ben@northwind.example" } }],
});

export const voidContractAsOwner = defineOperation({
  ...defineContractAction("void", Act),
  summary: "Void a contract, as a person in the application",
  failures: ["no-such-contract", "forbidden-move", "cannot-void-executed"],
  emits: activitiesCausedBy("void"),
  examples: [{ title: "Void a contract", params: { id: "T-1" }, body: { note: "Deal lost" } }],
});

export const holdContract = defineOperation({
  ...defineContractAction("hold", Act),
  summary: "Put a contract on hold",
  failures: ["no-such-contract", "forbidden-move"],
  emits: activitiesCausedBy("hold"),
  examples: [{ title: "Put a contract on hold", params: { id: "T-1" }, body: {} }],
});

export const resumeContract = defineOperation({
  ...defineContractAction("resume", Act),
  summary: "Resume a contract that is on hold",
  description:
    "Restores the status from before the hold. E-mails that were not delivered by then are reported as delivered.",
  failures: ["no-such-contract", "forbidden-move"],
  emits: activitiesCausedBy("resume").concat(
    "MAILER_EMAIL_EVENT",
    "SIGNING_EMAIL_DELIVERED",
    "REDLINING_EMAIL_DELIVERED",
  ),
  examples: [{ title: "Resume a contract", params: { id: "T-1" }, body: {} }],
});

export const deleteContract = defineOperation({
  ...defineContractAction("delete", Act),
  summary: "Delete a contract",
  description: "The contract API responds 404 for it from then on.",
  failures: ["no-such-contract"],
  emits: activitiesCausedBy("delete"),
  examples: [{ title: "Delete a contract", params: { id: "T-1" }, body: {} }],
});

const ownerBasis = {
  assumed: "The contract API does the same with a key of the workspace. The control plane requires no key.",
};
const OwnerAct = z
  .object({ email: email.optional().describe("E-mail address of the person (default: the contract's owner)") })
  .default({});
const MemberRequest = z
  .object({
    email: email.optional().describe("E-mail address of the reviewer or approver (default: the contract's owner)"),
  })
  .default({});

export const sendContractAsOwner = defineOperation({
  ...defineContractAction("send", OwnerAct, ownerBasis),
  summary: "Send a contract to its counterparties, as its owner",
  description: "Sends it to the people in the contract. To name others, use svc contracts send.",
  failures: ["no-such-contract", "forbidden-move", "review-open", "approvals-pending", "no-signatories"],
  emits: activitiesCausedBy("send"),
  examples: [{ title: "Send a contract for signature", params: { id: "T-1" }, body: {} }],
});

export const markContractAsOwner = defineOperation({
  ...defineContractAction("mark", OwnerAct, ownerBasis),
  summary: "Mark a contract for execution, as its owner",
  description: "Requests the signatures. Fails while a review is open or an approval is pending.",
  failures: ["no-such-contract", "forbidden-move", "review-open", "approvals-pending", "no-signatories"],
  emits: activitiesCausedBy("mark-for-execution"),
  examples: [{ title: "Mark a contract after its review", params: { id: "T-1" }, body: {} }],
});

export const unmarkContractAsOwner = defineOperation({
  ...defineContractAction("unmark", OwnerAct, ownerBasis),
  summary: "Take a contract out of signature, as its owner",
  description: "Voids the signatures so far, and returns the contract to REDLINING.",
  failures: ["no-such-contract", "cannot-unmark"],
  emits: activitiesCausedBy("unmark-for-execution"),
  examples: [{ title: "Return a contract to REDLINING", params: { id: "T-1" }, body: {} }],
});

export const requestReviewAsOwner = defineOperation({
  ...defineContractAction("request-review", MemberRequest, ownerBasis),
  summary: "Request a review from a member",
  failures: ["no-such-contract", "no-such-member", "forbidden-move"],
  emits: activitiesCausedBy("request-review"),
  examples: [{ title: "Request a review by Ben", params: { id: "T-1" }, body: { email: "ben@northwind.example" } }],
});

export const requestApprovalAsOwner = defineOperation({
  ...defineContractAction("request-approval", MemberRequest, ownerBasis),
  summary: "Request an approval from a member",
  description: "Adds one approval. To add several in an order, use svc contracts approvals create.",
  failures: ["no-such-contract", "no-such-member", "forbidden-move", "approvals-in-progress"],
  emits: activitiesCausedBy("request-approval"),
  examples: [{ title: "Request an approval by Ben", params: { id: "T-1" }, body: { email: "ben@northwind.example" } }],
});

const detailsBasis = {
  assumed:
    "Only the application shows and changes it, no public route does. The control plane is part of the emulator.",
};

const IdAndName = z.strictObject({ id: z.int(), name: z.string() });

export const listControlContracts = defineOperation({
  id: "emulator-contracts.list",
  ...controlOperation,
  summary: "List the contracts of all workspaces, newest first",
  description: "Includes deleted contracts, with their last status.",
  path: "/_emulator/contracts",
  request: { query: z.object(pageQuery) },
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
  cli: {
    command: "emulator contracts",
    rows: "items",
    columns: [
      "composite_id",
      { name: "contract_name", shrinkPriority: 1 },
      "contract_status",
      "cluster_id",
      "workspace_id",
    ],
  },
  basis: {
    assumed: "The contract API lists the contracts of one workspace. The control plane is part of the emulator.",
  },
  examples: [{ title: "List all contracts" }],
});

export const showContract = defineOperation({
  id: "emulator-contracts.show",
  ...controlOperation,
  summary: "Show a contract with data that the contract API omits",
  description:
    "Shows the entity, counterparties, reviewers and invited people, and the link of each person. A link opens the page on which the person reads the contract and can sign, decline, review, approve or comment.",
  path: "/_emulator/contracts/{id}",
  request: { params },
  responses: {
    200: json(
      z.strictObject({
        ...MovedContract.shape,
        workspace_id: z.int(),
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
            user: IdAndName.extend({ email: z.string() }).nullable(),
            role: IdAndName.nullable(),
            description: z.string(),
            requested_at: timestamp,
            completed_at: timestamp.nullable(),
          }),
        ),
        access: z
          .array(
            z.strictObject({
              user: IdAndName.extend({ email: z.string() }).nullable(),
              role: IdAndName.nullable(),
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
            link: z.string().describe("Link to the person's page; anyone who has it can act as that person"),
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
  ...controlOperation,
  summary: "Set the workspace entity of a contract",
  method: "POST",
  path: "/_emulator/contracts/{id}/entity",
  request: {
    params,
    body: json(
      z.object({
        reference_id: z.string().min(1).describe("Reference ID of the entity: NW-US"),
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
