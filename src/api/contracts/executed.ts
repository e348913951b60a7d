import * as z from "zod";
import { isObject } from "../../base/object.ts";
import { anyOf } from "../choices.ts";
import { json, operation } from "../operation.ts";
import { contracts } from "../services.ts";
import { activitiesCausedBy } from "./lifecycle.ts";
import { base64 } from "./shapes/base64.ts";
import { examplePdf } from "./shapes/example-pdf.ts";
import { CounterPartyDetails, counterpartyActivities, ExternalMetadataIn, PocDetails } from "./shapes/parties.ts";
import { ListedContract } from "./shapes/records.ts";

/** A number, or its digits as text: systems that keep ids as text send them so. */
export const Identifier = z.union([
  z.int(),
  z.string().regex(/^\d+$/, { error: "Input should be a valid integer, unable to parse string as an integer" }),
]);

/** One of two spellings must be there; the first is missed, also where other fields are wrong, too. */
function either<Name extends string>(name: Name, other: Name) {
  const isThere = (body: { readonly [Key in Name]?: unknown }) => body[name] !== undefined || body[other] !== undefined;
  const when = ({ value }: { readonly value: unknown }) => isObject(value);
  const refusal = { path: [name], error: "Field required", when };
  return [isThere, refusal] as const;
}

/** Both spellings of the fields (DECISIONS.md, C8): the specification's name wins where both are sent. */
export const ImportExecutedRequest = z
  .object({
    contract_name: z.string().min(1).describe("Name of the contract"),
    contract_type_id: Identifier.describe("Contract type of the workspace"),
    file_name: z.string().min(1).describe("Name of the document, ending in .pdf"),
    file_base64: base64(z.string().optional(), "PDF in base64; required"),
    creator_organization_entity_id: Identifier.optional().describe("Entity of the workspace; required"),
    counterparty_organization_name: z.string().nullish().describe("Name of the counterparty"),
    counterparty_is_individual: z
      .boolean()
      .nullish()
      .describe("The counterparty is a person (default: an organization)"),
    counterparty_poc_details: PocDetails.nullish(),
    external_metadata: ExternalMetadataIn.nullish(),
    file_content: base64(z.string().optional(), "Alias of file_base64"),
    organization_entity_id: Identifier.optional().describe("Alias of creator_organization_entity_id"),
    counterparty_details: z.array(CounterPartyDetails).nullish().describe("Other spelling of the counterparty_ fields"),
  })
  .refine(...either("file_base64", "file_content"))
  .refine(...either("creator_organization_entity_id", "organization_entity_id"))
  .meta({
    // For readers: either spelling will do, and the handler misses the specification's.
    allOf: [anyOf("file_base64", "file_content"), anyOf("creator_organization_entity_id", "organization_entity_id")],
  });

export const importExecuted = operation({
  id: "executed.import",
  service: contracts,
  summary: "Import a contract that was executed outside the service",
  description: "Its composite ID begins with H-.",
  method: "POST",
  path: "/api/v2.1/public/contracts/executed_contracts/",
  auth: "api-key",
  request: { body: json(ImportExecutedRequest) },
  responses: { 201: json(ListedContract) },
  failures: ["unknown-object-configuration", "pdfs-busy"],
  emits: [...counterpartyActivities, ...activitiesCausedBy("import-executed"), "CONTRACT_EXTERNAL_METADATA_CREATED"],
  cli: { command: "contracts import-executed" },
  basis: "specified",
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
