import * as z from "zod";
import { json, operation } from "../operation.ts";
import { contracts } from "../services.ts";
import { Attribute } from "./shapes/questions.ts";

const params = z.object({ contract_type_id: z.int().describe("Id of the contract type") });

export const listContractTypes = operation({
  id: "contract-types.list",
  service: contracts,
  summary: "List contract types",
  method: "GET",
  path: "/api/v2.1/public/contract_types/",
  auth: "api-key",
  request: {},
  responses: { 200: json(z.array(z.strictObject({ id: z.int(), name: z.string() }))) },
  failures: [],
  cli: { command: "contracts types list", columns: ["id", { name: "name", cut: 1 }] },
  basis: "public",
  examples: [{ title: "List the contract types" }],
});

export const listTypeEntities = operation({
  id: "contract-types.entities",
  service: contracts,
  summary: "List the entities that may sign contracts of a type",
  method: "GET",
  path: "/api/v2.1/public/contract_types/{contract_type_id}/entities",
  auth: "api-key",
  request: { params },
  responses: {
    200: json(
      z.array(
        z.strictObject({
          entity_id: z.int(),
          entity_name: z.string(),
          entity_type: z.string(),
          jurisdiction_of_incorporation: z.string(),
          address: z
            .strictObject({
              line_one: z.string(),
              city: z.string(),
              state: z.string(),
              country: z.string(),
              zipcode: z.string(),
            })
            .optional(),
          is_primary: z.boolean(),
        }),
      ),
    ),
  },
  failures: ["not-found"],
  cli: {
    command: "contracts types entities",
    columns: ["entity_id", "entity_name", "jurisdiction_of_incorporation", "is_primary"],
  },
  basis: "public",
  examples: [{ title: "List the entities that may sign", params: { contract_type_id: 301 } }],
});

export const showIntakeForm = operation({
  id: "contract-types.intake-form",
  service: contracts,
  summary: "Show the questions of a contract type's intake form",
  method: "GET",
  path: "/api/v2.1/public/contract_types/{contract_type_id}/intake_form/questionnaire/",
  auth: "api-key",
  request: { params },
  responses: { 200: json(z.array(Attribute)) },
  failures: ["not-found"],
  cli: { command: "contracts types intake-form", columns: ["variable", "type", "required", "display_label"] },
  basis: "public",
  examples: [{ title: "Show the questions that an upload must answer", params: { contract_type_id: 301 } }],
});
