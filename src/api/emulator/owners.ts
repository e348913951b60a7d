import * as z from "zod";
import { controlPlaneBasis, createAssumption } from "../basis.ts";
import { activitiesCausedBy } from "../contracts/lifecycle.ts";
import { defineOperation, json } from "../operation.ts";
import { emulator } from "../services.ts";
import { email } from "../shapes.ts";
import { MovedContract } from "./contracts.ts";

/** Kinds of identifiers in a look-up, with the names of the routing data. */
export const ownerTables = [
  "cluster_emails",
  "cluster_clients",
  "creator_tokens",
  "counterparty_tokens",
  "chat_a_teams",
  "external_integrations",
  "user_codes",
  "signatories",
] as const;

const Owner = z.strictObject({
  table: z.enum(ownerTables),
  key: z.string().describe("Identifier as stored in the table: addresses are hashed, user codes are bare"),
  cluster_id: z.string(),
});

export const removeSignatories = defineOperation({
  id: "owners.remove-signatories",
  service: emulator,
  summary: "Remove signatory hashes of a cluster from the routing data",
  description: "The routing service has no operation for it. Unknown hashes are ignored.",
  method: "DELETE",
  path: "/_emulator/signatories",
  auth: "control-token",
  request: {
    body: json(
      z.object({
        signatory_hashes: z.array(z.string()).describe("Hashes of the signatories' e-mails"),
        cluster_id: z.string().describe("Cluster that the contracts live on"),
      }),
    ),
  },
  responses: { 200: json(z.strictObject({ removed: z.int().describe("Number of removed rows") })) },
  failures: [],
  cli: { command: "emulator remove-signatories" },
  basis: controlPlaneBasis,
  examples: [{ title: "Remove one hash", body: { signatory_hashes: ["5d41402a"], cluster_id: "eu-1" } }],
});

/** The tables in which each key belongs to exactly one cluster. */
export const keyedTables = ownerTables.filter((table) => table !== "signatories");

export const lookUpOwners = defineOperation({
  id: "owners.look-up",
  service: emulator,
  summary: "Look up which clusters own many identifiers of one table",
  description: "The routing service itself looks up one identifier per request.",
  method: "POST",
  path: "/_emulator/owners",
  auth: "control-token",
  role: "read",
  request: {
    body: json(
      z.object({
        table: z.enum(keyedTables).describe("Table of the routing data"),
        keys: z
          .array(z.string())
          .max(10_000)
          .describe("Identifiers as stored in the table (e-mail addresses as hashes)"),
      }),
    ),
  },
  responses: {
    200: json(
      z.strictObject({
        cluster_ids: z.array(z.string().nullable()).describe("Clusters in the order of the keys; null: not mapped"),
      }),
    ),
  },
  failures: [],
  cli: { command: "emulator owners look-up" },
  basis: createAssumption("The control plane is the emulator's own."),
  examples: [{ title: "Where two clients are", body: { table: "cluster_clients", keys: ["wk_1", "wk_2"] } }],
});

export const listOwners = defineOperation({
  id: "owners.list",
  service: emulator,
  summary: "Show which clusters own an identifier, by routing table",
  method: "GET",
  path: "/_emulator/owners",
  auth: "control-token",
  request: {
    query: z.object({
      identifier: z.string().min(1).describe("E-mail address or hash, client id, token, team, tenant or user code"),
    }),
  },
  responses: { 200: json(z.array(Owner)) },
  failures: [],
  cli: { command: "emulator owners", columns: ["table", "key", "cluster_id"] },
  basis: controlPlaneBasis,
  examples: [{ title: "Find the owner of a chat_a team", query: { identifier: "T-NORTHWIND" } }],
});

const basis = createAssumption(
  "The contract API does the same with a key of the workspace. The control plane requires no key.",
);

const params = z.object({ id: z.string().describe("Contract: 12 or T-12") });
const Act = z
  .object({ email: email.optional().describe("E-mail address of the person (default: the contract's owner)") })
  .default({});
const Request = z
  .object({
    email: email.optional().describe("E-mail address of the reviewer or approver (default: the contract's owner)"),
  })
  .default({});

const shared = { service: emulator, method: "POST", auth: "control-token", basis } as const;
const responses = { 200: json(MovedContract) };

export const sendContractAsOwner = defineOperation({
  ...shared,
  id: "emulator-contracts.send",
  summary: "Send a contract to its counterparties, as its owner",
  description: "Sends it to the people in the contract. To name others, use svc contracts send.",
  path: "/_emulator/contracts/{id}/send",
  request: { params, body: json(Act) },
  responses,
  failures: ["no-such-contract", "forbidden-move", "review-open", "approvals-pending", "no-signatories"],
  emits: activitiesCausedBy("send"),
  cli: { command: "emulator send" },
  examples: [{ title: "Send a contract for signature", params: { id: "T-1" }, body: {} }],
});

export const markContractAsOwner = defineOperation({
  ...shared,
  id: "emulator-contracts.mark",
  summary: "Mark a contract for execution, as its owner",
  description: "Requests the signatures. Fails while a review is open or an approval is pending.",
  path: "/_emulator/contracts/{id}/mark",
  request: { params, body: json(Act) },
  responses,
  failures: ["no-such-contract", "forbidden-move", "review-open", "approvals-pending", "no-signatories"],
  emits: activitiesCausedBy("mark-for-execution"),
  cli: { command: "emulator mark" },
  examples: [{ title: "Mark a contract after its review", params: { id: "T-1" }, body: {} }],
});

export const unmarkContractAsOwner = defineOperation({
  ...shared,
  id: "emulator-contracts.unmark",
  summary: "Take a contract out of signature, as its owner",
  description: "Voids the signatures so far, and returns the contract to REDLINING.",
  path: "/_emulator/contracts/{id}/unmark",
  request: { params, body: json(Act) },
  responses,
  failures: ["no-such-contract", "cannot-unmark"],
  emits: activitiesCausedBy("unmark-for-execution"),
  cli: { command: "emulator unmark" },
  examples: [{ title: "Return a contract to REDLINING", params: { id: "T-1" }, body: {} }],
});

export const requestReviewAsOwner = defineOperation({
  ...shared,
  id: "emulator-contracts.request-review",
  summary: "Request a review from a member",
  path: "/_emulator/contracts/{id}/request-review",
  request: { params, body: json(Request) },
  responses,
  failures: ["no-such-contract", "no-such-member", "forbidden-move"],
  emits: activitiesCausedBy("request-review"),
  cli: { command: "emulator request-review" },
  examples: [{ title: "Request a review by Ben", params: { id: "T-1" }, body: { email: "ben@northwind.example" } }],
});

export const requestApprovalAsOwner = defineOperation({
  ...shared,
  id: "emulator-contracts.request-approval",
  summary: "Request an approval from a member",
  description: "Adds one approval. To add several in an order, use svc contracts approvals create.",
  path: "/_emulator/contracts/{id}/request-approval",
  request: { params, body: json(Request) },
  responses,
  failures: ["no-such-contract", "no-such-member", "forbidden-move", "approvals-in-progress"],
  emits: activitiesCausedBy("request-approval"),
  cli: { command: "emulator request-approval" },
  examples: [{ title: "Request an approval by Ben", params: { id: "T-1" }, body: { email: "ben@northwind.example" } }],
});
