import * as z from "zod";
import { defineOperation, json } from "../operation.ts";
import { contractOperation, publicOperation } from "../services.ts";
import { optionalString } from "../shapes.ts";
import { defineContractPage, ListedContract, NumberedContract, paging } from "./shapes.ts";

/**
 * Fields that the list filters by (DECISIONS.md, F18). Fields with `order` also accept [$gt], [$gte], [$lt] and [$lte].
 */
export const contractFilters = {
  approvals_pending: "text",
  assigned_to: "text",
  business_user_id: "order",
  client_brand_name: "text",
  client_email: "text",
  client_email_address: "text",
  client_name: "text",
  contract_id: "order",
  contract_kind: "text",
  contract_packet_name: "text",
  contract_reference_id: "text",
  contract_type_id: "order",
  contract_type_name: "text",
  created_at: "order",
  display_status: "text",
  entity_name: "text",
  execution_date: "order",
  expiring_at: "order",
  last_updated_on: "order",
  legal_user_id: "order",
  pending_with: "text",
  signatories: "text",
  signatures_completed_by: "text",
  signatures_pending_on: "text",
  signatures_rejected_by: "text",
  tags: "text",
} as const;
export type ContractFilter = keyof typeof contractFilters;

const plain = Object.fromEntries(
  (Object.keys(contractFilters) as ContractFilter[]).map((field) => [
    `filter__${field}`,
    optionalString.describe(`Only contracts whose ${field} is this`),
  ]),
) as Record<`filter__${ContractFilter}`, z.ZodOptional<z.ZodString>>;

const columns = [
  "id",
  { name: "contract_name", shrinkPriority: 3 },
  "contract_status",
  { name: "counter_party_name", shrinkPriority: 2 },
  { name: "contract_type_name", shrinkPriority: 1 },
  "created",
] as const;

export const listContracts = defineOperation({
  id: "contracts.list",
  ...publicOperation,
  summary: "List contracts, newest first",
  description:
    "Every filter also accepts an operator after its name: [$eq], [$ne], [$in] (comma list), and for IDs and dates " +
    "[$gt], [$gte], [$lt], [$lte]. Quote it on a command line: '--filter-display-status[$in]' SIGN,DRAFT.",
  path: "/api/v2.1/public/contracts/",
  request: {
    query: z.looseObject({
      ...paging,
      query: optionalString.describe("Search in names of contracts, entities and parties, and addresses"),
      ...plain,
    }),
  },
  responses: { 200: json(defineContractPage(ListedContract)) },
  cli: { command: "contracts list", rows: "results", operators: true, columns },
  examples: [
    { title: "List contracts that are out for signature", query: { filter__display_status: "SIGN", limit: 50 } },
  ],
});

export const listContractsV1 = defineOperation({
  id: "contracts.list-v1",
  ...contractOperation,
  summary: "List contracts with version 1 of the API, newest first",
  path: "/api/v1/public/contracts/",
  request: { query: z.object(paging) },
  responses: { 200: json(defineContractPage(NumberedContract)) },
  cli: { command: "contracts list-v1", rows: "results", columns },
  basis: {
    assumed: "Path and rows are public. The page around them is not, and follows version 2.1 (DECISIONS.md, C28).",
  },
  examples: [{ title: "List the newest 100 contracts", query: { limit: 100 } }],
});
