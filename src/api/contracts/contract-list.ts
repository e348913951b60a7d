import * as z from "zod";
import { json, operation } from "../operation.ts";
import { contracts } from "../services.ts";
import { ListedContract } from "./shapes/records.ts";

/**
 * Fields that the list filters by (DECISIONS.md, F18). `order`: they also take [$gt], [$gte], [$lt] and
 * [$lte].
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
    z.string().optional().describe(`Only contracts whose ${field} is this`),
  ]),
) as Record<`filter__${ContractFilter}`, z.ZodOptional<z.ZodString>>;

export const listContracts = operation({
  id: "contracts.list",
  service: contracts,
  summary: "List contracts, newest first",
  description:
    "Every filter also takes an operator behind its name: [$eq], [$ne], [$in] (comma list), and for ids and dates " +
    "[$gt], [$gte], [$lt], [$lte].",
  method: "GET",
  path: "/api/v2.1/public/contracts/",
  auth: "api-key",
  request: {
    query: z.looseObject({
      page: z.int().min(1).default(1).describe("From 1"),
      limit: z.int().min(1).max(100).default(10).describe("Rows on a page"),
      query: z.string().optional().describe("Text in the name of contract, entity or party, or in a party's address"),
      ...plain,
    }),
  },
  responses: {
    200: json(
      z.strictObject({
        page: z.int(),
        limit: z.int(),
        total_results: z.int(),
        results: z.array(ListedContract),
      }),
    ),
  },
  failures: [],
  cli: {
    command: "contracts list",
    rows: "results",
    columns: [
      "id",
      { name: "contract_name", cut: 3 },
      "contract_status",
      { name: "counter_party_name", cut: 2 },
      { name: "contract_type_name", cut: 1 },
      "created",
    ],
  },
  basis: "public",
  examples: [{ title: "What is out for signature", query: { filter__display_status: "SIGN", limit: 50 } }],
});
