import * as z from "zod";
import { controlRoles } from "../control-plane.ts";
import { defineOperation, empty, json } from "../operation.ts";
import { controlOperation } from "../services.ts";
import { optionalString, timestamp } from "../shapes.ts";

const basis = { assumed: "The control plane is part of the emulator (DECISIONS.md, E16)." };

const role = z
  .enum(controlRoles)
  .describe("Role: read (no secrets); operate (time, signatures, faults); admin (reset, restore, tokens)");

const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, "must be at most 63 letters, digits, dots, hyphens and underscores")
  .describe("Name of its owner, shown in the request log");

const workspace = z
  .string()
  .min(1)
  .optional()
  .describe("Workspace (name or ID) that it is bound to: it has no access to others, nor to the clock");

export const TokenInfo = z.strictObject({
  name: z.string(),
  role: z.enum(controlRoles),
  workspace: optionalString.describe("Workspace that it is bound to, if any"),
  created_at: timestamp.describe("Wall time"),
  last_used_at: timestamp
    .nullable()
    .describe("Wall time of the last use, to the minute after a restart; null if never used"),
});

export const createToken = defineOperation({
  id: "tokens.create",
  ...controlOperation,
  summary: "Create a token for the control plane",
  description:
    "The token is shown once, and stored as a hash. Set it as SVC_EMULATOR_TOKEN, or in a profile: svc config set emulator_token.",
  method: "POST",
  path: "/_emulator/tokens/{name}",
  role: "admin",
  request: { params: z.object({ name }), body: json(z.object({ role, workspace })) },
  responses: {
    201: json(
      z.strictObject({
        name: z.string(),
        role: z.enum(controlRoles),
        workspace: z.string().optional(),
        token: z.string().describe("Value for the header authorization, after `Bearer `"),
      }),
    ),
  },
  failures: ["token-name-taken", "no-such-workspace-name"],
  cli: { command: "emulator tokens create" },
  basis,
  examples: [
    { title: "Create one for a pipeline", params: { name: "ci" }, body: { role: "operate" } },
    {
      title: "Create one for a team",
      params: { name: "team-a" },
      body: { role: "operate", workspace: "Contoso Procurement" },
    },
  ],
});

export const listTokens = defineOperation({
  id: "tokens.list",
  ...controlOperation,
  summary: "List the tokens of the control plane, without their values",
  description: "The token in the run file is not listed. It is new at each start.",
  path: "/_emulator/tokens",
  role: "admin",
  responses: { 200: json(z.array(TokenInfo)) },
  cli: { command: "emulator tokens list", columns: ["name", "role", "workspace", "created_at", "last_used_at"] },
  basis,
  examples: [{ title: "List the tokens with their last use" }],
});

export const revokeToken = defineOperation({
  id: "tokens.revoke",
  ...controlOperation,
  summary: "Revoke a token of the control plane",
  description:
    "Takes effect immediately, and ends the console sessions that it opened. A restore does not bring it back.",
  method: "DELETE",
  path: "/_emulator/tokens/{name}",
  role: "admin",
  request: { params: z.object({ name }) },
  responses: { 204: empty() },
  failures: ["no-such-token"],
  cli: { command: "emulator tokens revoke", confirm: "yes" },
  basis,
  examples: [{ title: "Revoke a token", params: { name: "ci" } }],
});
