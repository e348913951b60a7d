import * as z from "zod";
import { isObject } from "../../base/object.ts";
import { defineOperation, json } from "../operation.ts";
import { specifiedOperation } from "../services.ts";
import { anyOf, dictionary, email } from "../shapes.ts";
import { activitiesCausedBy } from "./lifecycle.ts";
import {
  base64,
  CounterPartyDetails,
  counterpartyActivities,
  ExternalMetadataRequest,
  examplePdf,
  ListedContract,
  PocDetails,
} from "./shapes.ts";

/** Unlike in a creation from a template, the last name is required (DECISIONS.md, F15). */
const PaperContact = PocDetails.extend({ last_name: z.string() });

/** Fields that both routes share (DECISIONS.md, F15). */
const paper = {
  contract_name: z.string().min(1).describe("Name of the contract"),
  contract_type_id: z.int().describe("A contract type that supports this route"),
  file_name: z.string().min(1).describe("Name of the document"),
  file_base64: base64(z.string().min(1), "PDF in base64"),
  counterparty_is_individual: z.boolean().nullish().describe("The counterparty is a person (default: an organization)"),
  counterparty_poc_details: PaperContact.nullish(),
  creator_organization_entity_id: z.int().nullish().describe("Entity of the workspace (default: the primary one)"),
  external_metadata: ExternalMetadataRequest.nullish(),
  intake_form_data: dictionary(z.unknown()).nullish().describe("Answers, by variable"),
  business_user_email: email.nullish().describe("User of the workspace (default: the caller)"),
};

const CreatorSignatory = z.object({ email, title: z.string().default(""), note: z.string().nullish() });

export const UploadReviewRequest = z.object({
  ...paper,
  counterparty_organization_name: z
    .string()
    .min(1)
    .nullish()
    .describe("Name of the counterparty; required without counterparty_workspace_id"),
  counterparty_workspace_id: z.int().nullish().describe("ID of the counterparty's workspace, instead of the name"),
  creator_signatories: z.array(CreatorSignatory).nullish().describe("Own signatories, once reviewed"),
  reviewer: z
    .object({ org_user_email: email.nullish(), role_id: z.int().nullish(), description: z.string().default("") })
    .nullish()
    .describe("Reviewer (default: the default role of the contract type)"),
});

export const UploadSignRequest = z.object({
  ...paper,
  counterparty_organization_name: z.string().min(1).describe("Name of the counterparty"),
  counterparty_poc_details: PaperContact.nullish().describe("Signatories of the counterparty; required"),
  creator_signatories: z.array(CreatorSignatory).nullish().describe("Own signatories; required"),
});

const shared = {
  ...specifiedOperation,
  method: "POST",
  responses: { 201: json(ListedContract) },
  failures: ["type-without-route", "unknown-object-configuration", "pdfs-busy"],
} as const;

export const uploadForReview = defineOperation({
  ...shared,
  id: "paper.upload-for-review",
  summary: "Upload third-party paper for review",
  description: "The contract stays out of signature until its review is complete.",
  path: "/api/v2.1/public/contracts/upload_review_contracts/",
  request: { body: json(UploadReviewRequest) },
  emits: [
    "COUNTER_PARTY_CREATED",
    "COUNTER_PARTY_CONTACT_CREATED",
    ...activitiesCausedBy("upload-for-review"),
    "CONTRACT_EXTERNAL_METADATA_CREATED",
  ],
  cli: { command: "contracts upload-review" },
  examples: [
    {
      title: "Upload a contract for review by legal",
      body: {
        contract_name: "Vendor Agreement with Acme",
        contract_type_id: 302,
        file_name: "vendor-agreement.pdf",
        file_base64: examplePdf,
        counterparty_organization_name: "Acme Inc.",
        reviewer: { org_user_email: "ben@northwind.example", description: "Please check section 4" },
      },
    },
  ],
});

export const uploadForSignature = defineOperation({
  ...shared,
  id: "paper.upload-for-signature",
  summary: "Upload third-party paper that is approved, for signature",
  description:
    "Requires creator_signatories, counterparty_poc_details and the required answers of the contract type's intake form.",
  path: "/api/v2.1/public/contracts/upload_sign_contracts/",
  request: { body: json(UploadSignRequest) },
  emits: [
    "COUNTER_PARTY_CREATED",
    "COUNTER_PARTY_CONTACT_CREATED",
    ...activitiesCausedBy("upload-for-signature"),
    "CONTRACT_EXTERNAL_METADATA_CREATED",
  ],
  cli: { command: "contracts upload-sign" },
  examples: [
    {
      title: "Upload an agreed order form",
      body: {
        contract_name: "Order Form 7 with Acme",
        contract_type_id: 303,
        file_name: "order-form-7.pdf",
        file_base64: examplePdf,
        counterparty_organization_name: "Acme Inc.",
        counterparty_poc_details: { first_name: "Jo", last_name: "Doe", email: "jo@acme.example" },
        creator_signatories: [{ email: "ada@northwind.example", title: "General Counsel" }],
      },
    },
  ],
});

/** Requires one of two spellings. The first is reported as missing, together with other invalid fields. */
function requireOneOf<Name extends string>(name: Name, other: Name) {
  const isThere = (body: { readonly [Key in Name]?: unknown }) => body[name] !== undefined || body[other] !== undefined;
  const when = ({ value }: { readonly value: unknown }) => isObject(value);
  const rejection = { path: [name], error: "Field required", when };
  return [isThere, rejection] as const;
}

/**
 * An executed import, with both spellings of the fields (DECISIONS.md, C8). The specification's name has precedence if
 * both are sent.
 */
export const ImportExecutedRequest = z
  .object({
    contract_name: z.string().min(1).describe("Name of the contract"),
    contract_type_id: z.int().describe("Contract type of the workspace"),
    file_name: z.string().min(1).describe("Name of the document, ending in .pdf"),
    file_base64: base64(z.string().optional(), "PDF in base64; required"),
    creator_organization_entity_id: z.int().optional().describe("Entity of the workspace; required"),
    counterparty_organization_name: z.string().min(1).nullish().describe("Name of the counterparty"),
    counterparty_is_individual: z
      .boolean()
      .nullish()
      .describe("The counterparty is a person (default: an organization)"),
    counterparty_poc_details: PocDetails.nullish(),
    external_metadata: ExternalMetadataRequest.nullish(),
    file_content: base64(z.string().optional(), "Alias of file_base64"),
    organization_entity_id: z.int().optional().describe("Alias of creator_organization_entity_id"),
    counterparty_details: z.array(CounterPartyDetails).nullish().describe("Other spelling of the counterparty_ fields"),
  })
  .refine(...requireOneOf("file_base64", "file_content"))
  .refine(...requireOneOf("creator_organization_entity_id", "organization_entity_id"))
  .meta({
    // Only documents the rule: the handler accepts either spelling and reports the specification's as missing.
    allOf: [anyOf("file_base64", "file_content"), anyOf("creator_organization_entity_id", "organization_entity_id")],
  });

export const importExecuted = defineOperation({
  id: "executed.import",
  ...specifiedOperation,
  summary: "Import a contract that was executed outside the service",
  description: "Its composite ID begins with H-.",
  method: "POST",
  path: "/api/v2.1/public/contracts/executed_contracts/",
  request: { body: json(ImportExecutedRequest) },
  responses: { 201: json(ListedContract) },
  failures: ["unknown-object-configuration", "pdfs-busy"],
  emits: [...counterpartyActivities, ...activitiesCausedBy("import-executed"), "CONTRACT_EXTERNAL_METADATA_CREATED"],
  cli: { command: "contracts import-executed" },
  examples: [
    {
      title: "Import a signed NDA",
      body: {
        contract_name: "NDA with Acme, 2029",
        contract_type_id: 301,
        file_name: "nda-2029.pdf",
        file_base64: examplePdf,
        creator_organization_entity_id: 401,
        counterparty_organization_name: "Acme Inc.",
        counterparty_poc_details: { first_name: "Jo", last_name: "Doe", email: "jo@acme.example" },
      },
    },
  ],
});
