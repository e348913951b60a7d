import * as z from "zod";
import { defineOperation, json } from "../operation.ts";
import { contractOperation, specifiedOperation } from "../services.ts";
import { dictionary, email, optionalString, timestamp } from "../shapes.ts";
import { activitiesCausedBy } from "./lifecycle.ts";
import {
  CounterPartyDetails,
  CreatedContract,
  checkedBase64,
  compositeParams,
  contractParams,
  contractStatus,
  counterpartyActivities,
  ExternalMetadataRequest,
  noEffectNote,
  SignatoryDetails,
  userScoping,
} from "./shapes.ts";

/** The specification requires only an object. Documented keys are validated (DECISIONS.md, F12). */
export const SendRequest = z.object({
  to_emails: z
    .array(email)
    .optional()
    .describe("Recipients of a draft for review (default: the counterparties' contacts); not signatories"),
  cc_emails: z.array(email).optional().describe("CC addresses of a draft for review"),
  bcc_emails: z.array(email).optional().describe(`BCC addresses; ${noEffectNote}`),
  attachment_formats: z
    .array(z.enum(["DOCX", "PDF", "TEMPLATE"]))
    .min(1)
    .optional()
    .describe("Attach the document in these formats"),
  extra_attachments: z
    .array(
      z.object({
        file_name: z.string().min(1),
        mime_type: z.string().min(1),
        content_base64: checkedBase64(z.string(), "File in base64"),
      }),
    )
    .optional()
    .describe("Further files for the e-mail"),
  custom_message: optionalString.describe("Text of the e-mail"),
  subject: optionalString.describe("Subject of the e-mail"),
});

/** DECISIONS.md, F11 */
export const CreateContractRequest = z.object({
  contract_template_id: z.int().describe("Template of the workspace that can be signed"),
  contract_name: z.string().min(1).nullish().describe("Name of the contract (default: derived from the template)"),
  contract_data: dictionary(z.unknown()).describe(
    "Answers to the template's attributes; required even when there are none",
  ),
  counter_party_details: z.array(CounterPartyDetails).describe("Counterparties"),
  signatories: z.array(SignatoryDetails).nullish().describe("Signatories, instead of the counterparties' contacts"),
  external_metadata: ExternalMetadataRequest.nullish(),
  entity_reference_id: z.string().nullish().describe("Entity of the workspace (default: the primary one)"),
  workflow_config: z
    .object({
      auto_send_to_counterparty: z.boolean().default(false).describe("Send the contract immediately"),
      api_only_contract_edits: z.boolean().default(false).describe(`Disable edits in the application; ${noEffectNote}`),
      skip_cp_info_collection: z
        .boolean()
        .default(false)
        .describe(`Skip the questions to the counterparty; ${noEffectNote}`),
      skip_creator_info_collection: z
        .boolean()
        .default(false)
        .describe(`Skip the questions to the creator; ${noEffectNote}`),
    })
    .nullish(),
  send_to_counterparty_config: SendRequest.nullish().describe("Options for auto_send_to_counterparty"),
  is_embedded_contract: z.boolean().default(false).describe(`Embed the contract in another page; ${noEffectNote}`),
});

export const exampleContract = {
  contract_template_id: 101,
  contract_name: "Mutual NDA with Acme",
  contract_data: {},
  counter_party_details: [
    {
      is_individual: false,
      organization_name: "Acme Inc.",
      organization_type: "Corporation",
      poc_details: { first_name: "Jo", last_name: "Doe", email: "jo@acme.example" },
    },
  ],
};

export const createContract = defineOperation({
  id: "contracts.create",
  ...specifiedOperation,
  summary: "Create a contract from a template",
  description:
    "The contract stays in DRAFT until it is sent; workflow_config.auto_send_to_counterparty sends it immediately.",
  method: "POST",
  path: "/api/v2.1/public/contracts/",
  request: { body: json(CreateContractRequest) },
  responses: { 201: json(CreatedContract) },
  failures: ["no-creator-slot", "creator-slot-empty", "unknown-object-configuration", "no-signatories"],
  emits: [
    ...counterpartyActivities,
    "CONTRACT_CREATED",
    "CONTRACT_EXTERNAL_METADATA_CREATED",
    ...activitiesCausedBy("send"),
  ],
  cli: { by: "contracts create" },
  examples: [{ title: "Create a contract with one counterparty", body: exampleContract }],
});

export const sendContract = defineOperation({
  id: "contracts.send",
  ...specifiedOperation,
  summary: "Send a contract to its counterparties",
  description:
    "Ends the draft and requests the signatures, or shares the draft for review if its template requires it. The emulator sends no e-mail: svc emulator emails lists each one with its link. Text and attachments are validated and discarded.",
  method: "POST",
  path: "/api/v2.1/public/contracts/{composite_id}/send_to_counterparties",
  request: { params: compositeParams, body: json(SendRequest.default({})) },
  responses: { 200: json(z.strictObject({})) },
  failures: ["not-found", "forbidden-move", "review-open", "approvals-pending", "no-signatories"],
  emits: activitiesCausedBy("send"),
  cli: { by: "contracts send" },
  examples: [{ title: "Send a contract for signature", params: { composite_id: "T-1" }, body: {} }],
});

export const showContractStatus = defineOperation({
  id: "contracts.status",
  ...specifiedOperation,
  summary: "Show a contract's status",
  path: "/api/v2.1/public/contracts/{composite_id}/status",
  request: { params: compositeParams, headers: userScoping },
  responses: { 200: json(z.strictObject({ contract_status: contractStatus, contract_name: z.string() })) },
  failures: ["not-found"],
  cli: { command: "contracts status" },
  examples: [{ title: "Show the status of a contract", params: { composite_id: "T-1" } }],
});

/** DECISIONS.md, F13 */
export const RecipientRecord = z.strictObject({
  recipient: z.strictObject({
    id: z.int(),
    recipient_type: z.enum(["SIGNATORY", "APPROVER", "RECEIVER"]),
    user: z.strictObject({ id: z.int(), email: z.string(), name: z.string(), designation: z.string().nullish() }),
    recipient_order: z.int(),
    note: z.string().nullish(),
    created: timestamp,
    title: z.string(),
    is_sent_for_signature: z.boolean(),
    last_sent_for_signature_at: timestamp.nullish(),
  }),
  recipient_action: z
    .strictObject({ is_success: z.boolean(), action_notes: z.string().nullish(), timestamp })
    .nullish()
    .describe("Null while pending; is_success false means declined"),
  status: z.enum(["PENDING", "IN_PROGRESS", "COMPLETED"]),
});

export const listRecipients = defineOperation({
  id: "contracts.recipients",
  ...specifiedOperation,
  summary: "List the signatories of a contract and their signatures",
  path: "/api/v2.1/public/contracts/{composite_id}/recipients/",
  request: { params: compositeParams },
  responses: { 200: json(z.strictObject({ items: z.array(RecipientRecord) })) },
  failures: ["not-found"],
  cli: {
    command: "contracts recipients",
    rows: "items",
    columns: ["recipient.user.name", "recipient.user.email", "recipient.recipient_order", "status"],
  },
  examples: [{ title: "List the signatories", params: { composite_id: "T-1" } }],
});

export const showRecipientLink = defineOperation({
  id: "contracts.recipient-link",
  ...contractOperation,
  summary: "Get the signing link of a recipient",
  path: "/api/v2.1/public/contracts/{contract_id}/recipients/recipient_link/",
  request: { params: contractParams, query: z.object({ recipient_email: email.describe("Address of the recipient") }) },
  responses: { 200: json(z.strictObject({ link: z.string() })) },
  failures: ["not-found", "not-a-signatory"],
  cli: { command: "contracts recipient-link" },
  basis: { assumed: "The route is public. The response for an unknown address is not." },
  examples: [
    { title: "Get a signing link", params: { contract_id: 1 }, query: { recipient_email: "jo@acme.example" } },
  ],
});

export const showEmbeddedLink = defineOperation({
  id: "contracts.embedded-link",
  ...contractOperation,
  summary: "Get the URL that embeds a contract for a counterparty",
  path: "/api/v2.1/public/embedded/contracts/{contract_id}/counter_party/",
  request: {
    params: contractParams,
    query: z.object({ cp_email_id: email.describe("Address of the counterparty's contact") }),
  },
  responses: { 200: json(z.strictObject({ url: z.string() })) },
  failures: ["not-found", "not-a-contact"],
  cli: { command: "contracts embedded-link" },
  basis: {
    assumed: "The route is public. Which contracts have one, and the response for an unknown address, are not.",
  },
  examples: [{ title: "Get a URL to embed", params: { contract_id: 1 }, query: { cp_email_id: "jo@acme.example" } }],
});
