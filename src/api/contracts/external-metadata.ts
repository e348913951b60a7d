import * as z from "zod";
import { defineOperation, json } from "../operation.ts";
import { publicOperation, specifiedOperation } from "../services.ts";
import { CreatedContract, compositeIdParam, ExternalMetadata, ExternalMetadataRequest } from "./shapes.ts";

const params = z.object({ contract_id: compositeIdParam });
const Answer = z.strictObject({ external_metadata: ExternalMetadata });

export const putExternalMetadata = defineOperation({
  id: "external-metadata.put",
  ...specifiedOperation,
  summary: "Attach metadata of an external system to a contract",
  description: "Sent keys are replaced; others are kept. record_data is replaced as a whole.",
  method: "POST",
  path: "/api/v2.1/public/contracts/{contract_id}/external_metadata",
  request: {
    params,
    body: json(z.object({ external_metadata: ExternalMetadataRequest.describe("Metadata of the upstream system") })),
  },
  responses: { 200: json(Answer) },
  failures: ["not-found", "unknown-object-configuration"],
  emits: ["CONTRACT_EXTERNAL_METADATA_CREATED", "CONTRACT_EXTERNAL_METADATA_UPDATED"],
  cli: { command: "contracts external-metadata put" },
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

export const showExternalMetadata = defineOperation({
  id: "external-metadata.show",
  ...publicOperation,
  summary: "Show the external metadata of a contract",
  path: "/api/v2.1/public/contracts/{contract_id}/external_metadata",
  request: { params },
  responses: { 200: json(Answer) },
  failures: ["not-found"],
  cli: { command: "contracts external-metadata show" },
  examples: [{ title: "Show the linked record", params: { contract_id: "T-1" } }],
});

export const findByExternalMetadata = defineOperation({
  id: "external-metadata.find",
  ...specifiedOperation,
  summary: "Find contracts by the ID of their external metadata",
  description: "Newest first, at most 50.",
  path: "/api/v2.1/public/contracts/by_external_metadata/{external_metadata_id}",
  lastTakesSlashes: true,
  request: {
    params: z.object({ external_metadata_id: z.string().describe("The ID of the upstream system's record") }),
  },
  responses: { 200: json(z.array(CreatedContract)) },
  cli: {
    command: "contracts external-metadata find",
    columns: [
      "id",
      { name: "contract_name", shrinkPriority: 2 },
      "contract_status",
      { name: "counter_party_name", shrinkPriority: 1 },
    ],
  },
  examples: [{ title: "Find the contracts of a deal", params: { external_metadata_id: "deal-42" } }],
});
