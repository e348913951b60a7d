import * as z from "zod";
import { json, operation } from "../operation.ts";
import { contracts } from "../services.ts";

const Jurisdiction = z.strictObject({ id: z.int(), name: z.string().optional(), code2: z.string().optional() });

export const listEntities = operation({
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

export const listOrganizationTypes = operation({
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
