import * as z from "zod";
import { assumed } from "../../basis.ts";
import { ContractStatus, contractPermissions } from "../../contracts/shapes/records.ts";
import { dictionary } from "../../dictionary.ts";
import { email } from "../../email.ts";
import { json, operation } from "../../operation.ts";
import { emulator } from "../../services.ts";
import { timestamp } from "../../timestamp.ts";
import { pageOf, pageQuery } from "../shapes/page.ts";
import { MovedContract } from "./contracts.ts";

const ours = assumed(
  "Only the application shows and changes it, no public route does. The control plane is part of the emulator.",
);

const params = z.object({ id: z.string().describe("Contract: 12 or T-12") });

const Named = z.strictObject({ id: z.int(), name: z.string() });

export const listControlContracts = operation({
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
      pageOf(
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
  basis: assumed("The contract API lists the contracts of one workspace. The control plane is part of the emulator."),
  examples: [{ title: "List all contracts" }],
});

export const showContract = operation({
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
  basis: ours,
  examples: [{ title: "Show the reviewers and their links", params: { id: "T-1" } }],
});

export const replaceEntity = operation({
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
  failures: ["no-such-contract", "no-such-entity", "entity-fixed"],
  emits: ["CONTRACT_ENTITY_UPDATED"],
  cli: { command: "emulator set-entity" },
  basis: ours,
  examples: [{ title: "Assign the American entity", params: { id: "T-1" }, body: { reference_id: "NW-US" } }],
});
