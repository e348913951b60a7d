import * as z from "zod";
import { json, operation } from "../operation.ts";
import { contracts } from "../services.ts";
import { ExternalMetadataIn } from "./shapes/parties.ts";
import { CreatedContract, compositeIdParam, ExternalMetadataOut } from "./shapes/records.ts";

const params = z.object({ contract_id: compositeIdParam });
const Answer = z.strictObject({ external_metadata: ExternalMetadataOut });

export const putExternalMetadata = operation({
  id: "external-metadata.put",
  service: contracts,
  summary: "Attach metadata of an external system to a contract",
  description: "Sent keys are replaced; others are kept. record_data is replaced as a whole.",
  method: "POST",
  path: "/api/v2.1/public/contracts/{contract_id}/external_metadata",
  auth: "api-key",
  request: {
    params,
    body: json(z.object({ external_metadata: ExternalMetadataIn.describe("Metadata of the upstream system") })),
  },
  responses: { 200: json(Answer) },
  failures: ["not-found", "unknown-object-configuration"],
  emits: ["CONTRACT_EXTERNAL_METADATA_CREATED", "CONTRACT_EXTERNAL_METADATA_UPDATED"],
  cli: { command: "contracts external-metadata put" },
  basis: "specified",
  examples: [
    {
      title: "Link a contract to a deal of the CRM",
      params: { contract_id: "T-1" },
      body: {
        external_metadata: {
          id: "deal-42",
          integration_name: "crm",
          record_type: "deal",
          record_data: { stage: "won" },
        },
      },
    },
  ],
});

export const showExternalMetadata = operation({
  id: "external-metadata.show",
  service: contracts,
  summary: "Show the external metadata of a contract",
  method: "GET",
  path: "/api/v2.1/public/contracts/{contract_id}/external_metadata",
  auth: "api-key",
  request: { params },
  responses: { 200: json(Answer) },
  failures: ["not-found"],
  cli: { command: "contracts external-metadata show" },
  basis: "public",
  examples: [{ title: "Show the linked record", params: { contract_id: "T-1" } }],
});

export const findByExternalMetadata = operation({
  id: "external-metadata.find",
  service: contracts,
  summary: "Find contracts by the id of their external metadata",
  description: "Newest first, at most 50.",
  method: "GET",
  path: "/api/v2.1/public/contracts/by_external_metadata/{external_metadata_id}",
  lastTakesSlashes: true,
  auth: "api-key",
  request: {
    params: z.object({ external_metadata_id: z.string().describe("The id of the upstream system's record") }),
  },
  responses: { 200: json(z.array(CreatedContract)) },
  failures: [],
  cli: {
    command: "contracts external-metadata find",
    columns: ["id", { name: "contract_name", cut: 2 }, "contract_status", { name: "counter_party_name", cut: 1 }],
  },
  basis: "specified",
  examples: [{ title: "Find the contracts of a deal", params: { external_metadata_id: "deal-42" } }],
});
