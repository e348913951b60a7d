import * as z from "zod";
import { json, operation } from "../operation.ts";
import { contracts } from "../services.ts";
import { pageOf, paging } from "./shapes/paging.ts";

const RoleRecord = z.strictObject({ id: z.int(), name: z.string(), description: z.string().optional() });

export const listUsers = operation({
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
      pageOf(
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

export const listRoles = operation({
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
