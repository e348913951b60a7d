import * as z from "zod";
import { defineOperation, json } from "../operation.ts";
import { contracts } from "../services.ts";
import { Attribute, defineContractPage, paging } from "./shapes.ts";

const RoleRecord = z.strictObject({ id: z.int(), name: z.string(), description: z.string().optional() });

export const listUsers = defineOperation({
  id: "users.list",
  service: contracts,
  summary: "List the users of the workspace",
  method: "GET",
  path: "/api/v2.1/public/auth/users/",
  auth: "api-key",
  request: {
    query: z.object({
      ...paging,
      user_email: z.string().optional().describe("Search in the e-mail address"),
      user_name: z.string().optional().describe("Search in the name"),
    }),
  },
  responses: {
    200: json(
      defineContractPage(
        z.strictObject({
          id: z.int(),
          email: z.string(),
          name: z.string(),
          designation: z.string().optional(),
          roles: z.array(RoleRecord),
          is_active: z.boolean(),
        }),
      ),
    ),
  },
  failures: [],
  cli: {
    command: "contracts users list",
    rows: "results",
    columns: ["id", { name: "name", cut: 1 }, { name: "email", cut: 2 }, "is_active"],
  },
  basis: "public",
  examples: [{ title: "Find the ID of a user", query: { user_email: "ada@" } }],
});

export const listRoles = defineOperation({
  id: "users.roles",
  service: contracts,
  summary: "List the active roles of the workspace",
  method: "GET",
  path: "/api/v2.1/public/auth/roles/",
  auth: "api-key",
  request: {},
  responses: { 200: json(z.strictObject({ active_roles: z.array(RoleRecord) })) },
  failures: [],
  cli: { command: "contracts users roles", rows: "active_roles", columns: ["id", "name"] },
  basis: "public",
  examples: [{ title: "List the roles" }],
});

const Jurisdiction = z.strictObject({ id: z.int(), name: z.string().optional(), code2: z.string().optional() });

export const listEntities = defineOperation({
  id: "organizations.entities",
  service: contracts,
  summary: "List the legal entities of the workspace",
  method: "GET",
  path: "/api/v2.1/public/organizations/entities/",
  auth: "api-key",
  request: {},
  responses: {
    200: json(
      z.array(
        z.strictObject({
          id: z.int(),
          name: z.string(),
          reference_id: z.string(),
          jurisdiction: Jurisdiction,
          organization_type: z.strictObject({ id: z.int(), name: z.string() }),
          primary_address: z
            .strictObject({
              id: z.int(),
              line_one: z.string(),
              city_name: z.string(),
              state_name: z.string(),
              zipcode: z.string(),
              country: Jurisdiction.optional(),
            })
            .optional(),
          is_primary: z.boolean(),
        }),
      ),
    ),
  },
  failures: [],
  cli: { command: "contracts entities", columns: ["id", "reference_id", "name", "is_primary"] },
  basis: "public",
  examples: [{ title: "List the entities" }],
});

export const listOrganizationTypes = defineOperation({
  id: "organizations.types",
  service: contracts,
  summary: "List the labels that organization_type may have",
  method: "GET",
  path: "/api/v2.1/public/organizations/types/",
  auth: "api-key",
  request: {
    query: z.object({ jurisdiction_iso_code: z.string().optional().describe("Show only types of this jurisdiction") }),
  },
  responses: {
    200: json(z.array(z.strictObject({ id: z.int(), name: z.string(), jurisdiction: Jurisdiction.optional() }))),
  },
  failures: ["unknown-jurisdiction"],
  cli: { command: "contracts organization-types", columns: ["id", "name"] },
  basis: "public",
  examples: [{ title: "List the labels for a German company", query: { jurisdiction_iso_code: "DE" } }],
});

const params = z.object({ contract_type_id: z.int().describe("Id of the contract type") });

export const listContractTypes = defineOperation({
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

export const listTypeEntities = defineOperation({
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

export const showIntakeForm = defineOperation({
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
