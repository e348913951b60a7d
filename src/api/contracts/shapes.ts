import * as z from "zod";
import { decodeFileBase64 } from "../../base/hmac.ts";
import { dictionary, email, expectedCountry, optionalString, timestamp } from "../shapes.ts";
import { contractStatuses } from "./lifecycle.ts";

export const contractStatus = z.enum(contractStatuses);

/** Permissions on a contract (DECISIONS.md, F22). */
export const contractPermissions = ["CONTRACT.READ", "CONTRACT.SUGGEST", "CONTRACT.EDIT", "CONTRACT.SIGN"] as const;

/** Path parameter of the routes that accept `T-12` or `H-12`. */
export const compositeIdParam = z.string().describe("Composite ID of the contract: T-12 or H-12");
export const compositeParams = z.object({ composite_id: compositeIdParam });

/** Path parameter of the routes that accept the plain number. */
export const contractParams = z.object({ contract_id: z.int().describe("Number of the contract, without T- or H-") });

/** Scoping for routes that can be restricted to the contracts that the acting user can see (DECISIONS.md, F2). */
export const userScoping = z.object({
  "enforce-user-scoping": optionalString.describe(
    "true: only a contract that the acting user is involved in (assumed)",
  ),
});

/** Metadata of an external system, in requests and responses (DECISIONS.md, C13). */
export const ExternalMetadata = z.strictObject({
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
  contract_status: contractStatus,
  counter_party_name: z.string(),
  contract_type_name: z.string(),
  contract_type_id: z.int(),
  created_by_workspace: z.int(),
  external_metadata: ExternalMetadata,
  reference_id: z.string(),
};

/** Response of creation from a template and of the look-up by external metadata (DECISIONS.md, F10). */
export const CreatedContract = z.strictObject({
  ...record,
  contract_id: z.int().describe("Number of the contract, for paths that require it"),
  created_by: z.string().describe("E-mail address of the creator"),
});

/** Response of lists, uploads and the executed import. */
export const ListedContract = z.strictObject({
  ...record,
  created_by: z.string().describe("Full name of the creator"),
  created_by_user_name: z.string(),
  created_by_user_email: z.string(),
});

/** Response of the list of version 1. */
export const NumberedContract = z.strictObject({
  ...record,
  id: z.int().describe("Number of the contract"),
  created_by: z.string().describe("E-mail address of the creator"),
});

/**
 * The pattern is only documentation: handlers decode the string and reject invalid base64. A validated pattern would
 * scan megabytes twice.
 */
const breaks = "[\\r\\n]*";
const digit = `[A-Za-z0-9+/]${breaks}`;
const end = `(?:${digit}){2}=${breaks}=${breaks}|(?:${digit}){3}=${breaks}`;
const pattern = `^${breaks}(?:(?:${digit}){4})*(?:${end})?$`;

/** Marks a string as bytes in base64. On the command line, a file can be named instead. */
export const base64 = <Text extends z.ZodType>(text: Text, description: string): Text =>
  text.meta({ description, contentEncoding: "base64", pattern });

/** Marks a string as bytes in base64 and validates its pattern, for strings that no handler decodes. */
export const checkedBase64 = (text: z.ZodString, description: string): z.ZodString =>
  base64(
    text.refine((given) => decodeFileBase64(given) !== undefined, { error: "Input should be valid base64" }),
    description,
  );

/** The smallest PDF that readers open, one empty page, in base64. Requests with this example are accepted unchanged. */
export const examplePdf = [
  "JVBERi0xLjQKMSAwIG9iago8PCAvVHlwZSAvQ2F0YWxvZyAvUGFnZXMgMiAwIFIgPj4KZW5kb2JqCjIgMCBvYmoKPDwgL1R5cGUg",
  "L1BhZ2VzIC9LaWRzIFszIDAgUl0gL0NvdW50IDEgPj4KZW5kb2JqCjMgMCBvYmoKPDwgL1R5cGUgL1BhZ2UgL1BhcmVudCAyIDAg",
  "UiAvTWVkaWFCb3ggWzAgMCA1OTUgODQyXSA+PgplbmRvYmoKeHJlZgowIDQKMDAwMDAwMDAwMCA2NTUzNSBmIAowMDAwMDAwMDA5",
  "IDAwMDAwIG4gCjAwMDAwMDAwNTggMDAwMDAgbiAKMDAwMDAwMDExNSAwMDAwMCBuIAp0cmFpbGVyCjw8IC9TaXplIDQgL1Jvb3Qg",
  "MSAwIFIgPj4Kc3RhcnR4cmVmCjE4NgolJUVPRgo=",
].join("");

/** Note on a field that controls a step of the real service that the emulator does not have. */
export const noEffectNote = "no effect in the emulator";

/** Query of a paged list (DECISIONS.md, F6). */
export const paging = {
  page: z.int().min(1).default(1).describe("Page number, from 1"),
  limit: z.int().min(1).max(100).default(10).describe("Rows per page"),
};

/** Defines a page of rows (DECISIONS.md, F18). */
export const defineContractPage = <Row extends z.ZodType>(row: Row) =>
  z.strictObject({ page: z.int(), limit: z.int(), total_results: z.int(), results: z.array(row) });

/** Contacts of the counterparty. */
export const PocDetails = z.object({ first_name: z.string().min(1), last_name: z.string().default(""), email });

export const OrganizationAddress = z.object({
  line_one: z.string().min(1),
  line_two: z.string().nullish(),
  city: z.string().min(1),
  state: z.string().default(""),
  zipcode: z.string().default(""),
  country: z.string().nullish(),
  country_iso_code: expectedCountry,
  email: z.string().nullish(),
  phone: z.string().nullish(),
  gst_number: z.string().nullish(),
  tax_id: z.string().nullish(),
});

/** A row of `counter_party_details` (DECISIONS.md, F11). */
export const CounterPartyDetails = z.object({
  is_individual: z.boolean(),
  organization_type: z.string().nullish().describe("Exact label configured in the workspace"),
  organization_name: z.string().min(1).nullish().describe("Required unless is_individual"),
  poc_details: PocDetails,
  organization_details: z
    .object({
      jurisdiction: z.string().nullish(),
      jurisdiction_iso_code: z.string().nullish().describe("A jurisdiction configured in the workspace"),
      address: OrganizationAddress.nullish(),
    })
    .nullish(),
  party_role_identifier: z.string().nullish().describe(`Role among several parties; ${noEffectNote}`),
});

/** A row of `signatories` (DECISIONS.md, F11). */
export const SignatoryDetails = z.object({
  name: z.string().min(1),
  email,
  is_counterparty_signatory: z.boolean(),
  title: z.string().nullish(),
  counterparty_name: z.string().nullish().describe("Required for a signatory of the counterparty"),
  sign_order: z.int().min(1).nullish().describe("Set on all signatories or on none"),
  note: z.string().nullish(),
});

/** Metadata of the upstream system; `id` is the key for later look-ups. */
export const ExternalMetadataRequest = z
  .object({
    id: z.string().min(1).optional().describe("Record ID in the upstream system"),
    integration_name: z.string().optional(),
    record_type: z.string().optional(),
    record_data: dictionary(z.unknown()).optional().describe("Free-form"),
    object_configuration_id: z.guid("Input should be a valid UUID").optional().describe("Requires record_type"),
  })
  .refine(({ object_configuration_id: id, record_type: type }) => id === undefined || type !== undefined, {
    path: ["record_type"],
    error: "Field required",
  })
  .meta({ dependentRequired: { object_configuration_id: ["record_type"] } });

/** Activities of the new counterparties of a contract, emitted before those of the contract (DECISIONS.md, C8). */
export const counterpartyActivities = [
  "COUNTER_PARTY_CREATED",
  "COUNTER_PARTY_CONTACT_CREATED",
  "COUNTER_PARTY_ADDRESS_CREATED",
] as const;

/** A user of the workspace in request and response bodies (DECISIONS.md, F8, F13, F20). */
export const OrgUser = z.strictObject({
  id: z.int(),
  name: z.string(),
  email: z.string(),
  designation: z.string().nullish(),
});

/** An attribute of a template or a question of an intake form (DECISIONS.md, F16, F22). */
export const Attribute = z.strictObject({
  display_label: z.string(),
  variable: z.string(),
  type: z.enum([
    "string",
    "boolean",
    "int",
    "float",
    "array of strings",
    "array of options",
    "enum",
    "date",
    "repeating",
    "array of files",
  ]),
  help_text: z.string().optional(),
  options: z.array(z.strictObject({ label: z.string(), value: z.unknown() })).optional(),
  required: z.boolean(),
  default_value: z.unknown().optional(),
});
