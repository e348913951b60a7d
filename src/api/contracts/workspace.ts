import * as z from "zod";
import { defineOperation, json } from "../operation.ts";
import { publicOperation } from "../services.ts";
import { optionalString } from "../shapes.ts";
import { Attribute, defineContractPage, paging } from "./shapes.ts";

export const RoleRecord = z.strictObject({ id: z.int(), name: z.string(), description: z.string().optional() });

export const listUsers = defineOperation({
  id: "users.list",
  ...publicOperation,
  summary: "List the users of the workspace",
  path: "/api/v2.1/public/auth/users/",
  request: {
    query: z.object({
      ...paging,
      user_email: optionalString.describe("Search in the e-mail address"),
      user_name: optionalString.describe("Search in the name"),
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
  cli: {
    command: "contracts users list",
    rows: "results",
    columns: ["id", { name: "name", shrinkPriority: 1 }, { name: "email", shrinkPriority: 2 }, "is_active"],
  },
  examples: [{ title: "Find the ID of a user", query: { user_email: "ada@" } }],
});

export const listRoles = defineOperation({
  id: "users.roles",
  ...publicOperation,
  summary: "List the active roles of the workspace",
  path: "/api/v2.1/public/auth/roles/",
  responses: { 200: json(z.strictObject({ active_roles: z.array(RoleRecord) })) },
  cli: { command: "contracts users roles", rows: "active_roles", columns: ["id", "name"] },
  examples: [{ title: "List the roles" }],
});

const Jurisdiction = z.strictObject({ id: z.int(), name: z.string().optional(), code2: z.string().optional() });

export const listEntities = defineOperation({
  id: "organizations.entities",
  ...publicOperation,
  summary: "List the legal entities of the workspace",
  path: "/api/v2.1/public/organizations/entities/",
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
  cli: { command: "contracts entities", columns: ["id", "reference_id", "name", "is_primary"] },
  examples: [{ title: "List the entities" }],
});

export const listOrganizationTypes = defineOperation({
  id: "organizations.types",
  ...publicOperation,
  summary: "List the labels that organization_type may have",
  path: "/api/v2.1/public/organizations/types/",
  request: {
    query: z.object({ jurisdiction_iso_code: optionalString.describe("Show only types of this jurisdiction") }),
  },
  responses: {
    200: json(z.array(z.strictObject({ id: z.int(), name: z.string(), jurisdiction: Jurisdiction.optional() }))),
  },
  failures: ["unknown-jurisdiction"],
  cli: { command: "contracts organization-types", columns: ["id", "name"] },
  examples: [{ title: "List the labels for a German company", query: { jurisdiction_iso_code: "DE" } }],
});

const params = z.object({ contract_type_id: z.int().describe("ID of the contract type") });

export const listContractTypes = defineOperation({
  id: "contract-types.list",
  ...publicOperation,
  summary: "List contract types",
  path: "/api/v2.1/public/contract_types/",
  responses: { 200: json(z.array(z.strictObject({ id: z.int(), name: z.string() }))) },
  cli: { command: "contracts types list", columns: ["id", { name: "name", shrinkPriority: 1 }] },
  examples: [{ title: "List the contract types" }],
});

export const listTypeEntities = defineOperation({
  id: "contract-types.entities",
  ...publicOperation,
  summary: "List the entities that may sign contracts of a type",
  path: "/api/v2.1/public/contract_types/{contract_type_id}/entities",
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
  examples: [{ title: "List the entities that may sign", params: { contract_type_id: 301 } }],
});

export const showIntakeForm = defineOperation({
  id: "contract-types.intake-form",
  ...publicOperation,
  summary: "Show the questions of a contract type's intake form",
  path: "/api/v2.1/public/contract_types/{contract_type_id}/intake_form/questionnaire/",
  request: { params },
  responses: { 200: json(z.array(Attribute)) },
  failures: ["not-found"],
  cli: { command: "contracts types intake-form", columns: ["variable", "type", "required", "display_label"] },
  examples: [{ title: "Show the questions that an upload must answer", params: { contract_type_id: 301 } }],
});
