import * as z from "zod";
import { contractStatuses } from "../../contract-statuses.ts";
import { dictionary } from "../../dictionary.ts";
import { timestamp } from "../../timestamp.ts";

export const ContractStatus = z.enum(contractStatuses);

/** What somebody may do with a contract (DECISIONS.md, F22). */
export const contractPermissions = ["CONTRACT.READ", "CONTRACT.SUGGEST", "CONTRACT.EDIT", "CONTRACT.SIGN"] as const;

/** Path parameter of the routes that take `T-12` or `H-12`. */
export const compositeIdParam = z.string().describe("Composite id of the contract: T-12 or H-12");

/** Path parameter of the routes that take the plain number. */
export const contractIdParam = z.int().describe("Number of the contract, without T- or H-");

/** On the routes that can be restricted to what the acting user may see (DECISIONS.md, F2). */
export const userScoping = z.object({
  "enforce-user-scoping": z
    .string()
    .optional()
    .describe("true: only a contract that the acting user is involved in (assumed)"),
});

/** Metadata of an external system, as requests give it and answers repeat it (DECISIONS.md, C13). */
export const ExternalMetadataOut = z.strictObject({
  id: z.string().optional(),
  integration_name: z.string().optional(),
  record_type: z.string().optional(),
  record_data: dictionary(z.unknown()).optional(),
  object_configuration_id: z.string().optional(),
});

const record = {
  id: z.string().describe("Composite id"),
  created: timestamp,
  contract_name: z.string(),
  contract_link: z.string(),
  contract_status: ContractStatus,
  counter_party_name: z.string(),
  contract_type_name: z.string(),
  contract_type_id: z.int(),
  created_by_workspace: z.int(),
  external_metadata: ExternalMetadataOut,
  reference_id: z.string(),
};

/** What creation from a template and the look-up by external metadata answer: DECISIONS.md, F10. */
export const CreatedContract = z.strictObject({
  ...record,
  contract_id: z.int().describe("Number of the contract, for paths that require it"),
  created_by: z.string().describe("E-mail address of the creator"),
});

/** What lists, uploads and the executed import answer. */
export const ListedContract = z.strictObject({
  ...record,
  created_by: z.string().describe("Full name of the creator"),
  created_by_user_name: z.string(),
  created_by_user_email: z.string(),
});

/** What the list of version 1 answers. */
export const NumberedContract = z.strictObject({
  ...record,
  id: z.int().describe("Number of the contract"),
  created_by: z.string().describe("E-mail address of the creator"),
});
