import * as z from "zod";
import { defineOperation, json } from "../operation.ts";
import { publicOperation } from "../services.ts";
import { Attribute } from "./shapes.ts";

export const TemplateRecord = z.strictObject({
  id: z.int(),
  name: z.string(),
  contract_type_id: z.int(),
  tags: z.array(z.string()).optional(),
});

const params = z.object({ template_id: z.int().describe("ID of the template") });
const CounterpartyKind = z.enum(["Organisation", "Individual"]);

export const listTemplates = defineOperation({
  id: "templates.list",
  ...publicOperation,
  summary: "List contract templates",
  path: "/api/v2.1/public/templates/",
  request: {
    query: z.object({
      tags: z.array(z.string()).optional().describe("Match any of these tags"),
      tags_all: z.array(z.string()).optional().describe("Match all of these tags"),
      cp_types: z.array(CounterpartyKind).optional().describe("Templates for any of these kinds of counterparty"),
      cp_types_all: z.boolean().default(false).describe("Match all kinds in cp_types instead of any"),
      exclude_multi_party: z.boolean().default(false).describe("Exclude templates for more than one counterparty"),
      include_archived: z.boolean().default(false).describe("Include archived templates"),
    }),
  },
  responses: { 200: json(z.strictObject({ items: z.array(TemplateRecord) })) },
  cli: {
    command: "contracts templates list",
    rows: "items",
    columns: ["id", { name: "name", shrinkPriority: 1 }, "contract_type_id"],
  },
  examples: [{ title: "List the templates" }],
});

export const showTemplate = defineOperation({
  id: "templates.show",
  ...publicOperation,
  summary: "Show a contract template",
  path: "/api/v2.1/public/templates/{template_id}/",
  request: { params },
  responses: { 200: json(TemplateRecord) },
  failures: ["not-found"],
  cli: { command: "contracts templates show" },
  examples: [{ title: "Show a template", params: { template_id: 101 } }],
});

export const updateTemplate = defineOperation({
  id: "templates.update",
  ...publicOperation,
  summary: "Change the tags of a contract template",
  method: "PATCH",
  path: "/api/v2.1/public/templates/{template_id}/",
  request: {
    params,
    body: json(z.object({ tags: z.array(z.string().min(1).max(100)).optional().describe("New list of all tags") })),
  },
  responses: { 200: json(TemplateRecord) },
  failures: ["not-found"],
  cli: { command: "contracts templates update" },
  examples: [{ title: "Tag a template", params: { template_id: 101 }, body: { tags: ["sales"] } }],
});

export const showTemplateMetadata = defineOperation({
  id: "templates.metadata",
  ...publicOperation,
  summary: "Show the contract_data that a template needs",
  path: "/api/v2.1/public/templates/{template_id}/metadata",
  request: { params },
  responses: {
    200: json(
      z.strictObject({
        attributes: z.array(Attribute),
        counter_party_kind: z.enum(["Individual", "Organisation", "Both"]),
      }),
    ),
  },
  failures: ["not-found"],
  cli: {
    command: "contracts templates metadata",
    rows: "attributes",
    columns: ["variable", "type", "required", "display_label"],
  },
  examples: [{ title: "Show the data to fill in", params: { template_id: 102 } }],
});
