import * as z from "zod";
import { defineOperation, empty, json, jsonInPieces } from "../operation.ts";
import { controlOperation } from "../services.ts";
import { nullableString, optionalString, timestamp } from "../shapes.ts";

const State = z.looseObject({ svc_state: z.int().describe("Version of this format") });

/** A string in Node.js holds at most 512 MiB. */
const maxStateBytes = 500 * 1_024 * 1_024;

export const WorkspaceInfo = z.strictObject({
  id: z.int(),
  cluster_id: z.string(),
  name: z.string(),
  client_id: z.string(),
  client_secret: z.string(),
  hmac_key: z.string(),
  industry: nullableString.describe("Taken from its trial signup"),
  use_case: z.string().nullable(),
  plan: nullableString.describe("Last value that the billing provider reported"),
  is_suspended: z.boolean().describe("Whether the billing provider reported a paused or cancelled subscription"),
  intake_workflows: z
    .array(z.strictObject({ id: z.int(), title: z.string() }))
    .describe("Published workflows, for intakes"),
  creator_tokens: z.array(z.string()).describe("Tokens of the seed, and of pending members"),
  counterparty_tokens: z.array(z.string()).describe("Tokens of the seed, and of contracts that have not ended"),
});

export const listWorkspaces = defineOperation({
  id: "emulator.workspaces",
  ...controlOperation,
  summary: "List workspaces with their keys",
  description: "The table hides the secrets. --json and --fields client_secret,hmac_key show them.",
  path: "/_emulator/workspaces",
  responses: { 200: json(z.array(WorkspaceInfo)) },
  cli: {
    command: "emulator workspaces",
    columns: ["id", "cluster_id", { name: "name", shrinkPriority: 1 }, "client_id"],
  },
  examples: [{ title: "List the API keys" }],
});

export const createWorkspace = defineOperation({
  id: "emulator.create-workspace",
  ...controlOperation,
  summary: "Create a workspace with its own keys and templates",
  description:
    "Workspaces are isolated from each other, and do not delay each other's deliveries. A reset removes the workspace.",
  method: "POST",
  path: "/_emulator/workspaces",
  role: "admin",
  request: {
    body: json(
      z.object({
        name: z.string().min(1).max(200).describe("Name of the workspace; must be unique"),
        template: z
          .enum(["demo", "empty"])
          .default("demo")
          .describe("demo: with templates, contract types, workflows and roles; empty: without"),
        cluster_id: optionalString.describe("Cluster of the workspace (default: the first emulated one)"),
      }),
    ),
  },
  responses: { 201: json(WorkspaceInfo) },
  failures: ["no-such-cluster-here", "external-cluster", "workspace-exists"],
  cli: {
    command: "emulator workspaces create",
    columns: ["id", "cluster_id", "name", "client_id", "client_secret", "hmac_key"],
  },
  examples: [{ title: "Create one for a team", body: { name: "Team A" } }],
});

const workspaceParams = z.object({
  workspace_id: z.int().describe("ID of the workspace, from svc emulator workspaces"),
});

const defineRoutedKeys = (what: string) => z.array(z.string()).describe(what);

const WorkspaceRouting = z.strictObject({
  id: z.int(),
  cluster_id: z.string(),
  name: z.string(),
  cluster_emails: defineRoutedKeys("Hashes of its users' addresses"),
  cluster_clients: defineRoutedKeys("Client ID of its API key"),
  creator_tokens: defineRoutedKeys("Invite tokens of creators"),
  counterparty_tokens: defineRoutedKeys("Invite tokens of counterparties"),
  chat_a_teams: defineRoutedKeys("chat_a team IDs"),
  external_integrations: defineRoutedKeys("External IDs and their types"),
  user_codes: defineRoutedKeys("User codes of devices that its users have approved"),
  signatories: defineRoutedKeys("Hashes of its signatories' addresses"),
});

export const showWorkspaceRouting = defineOperation({
  id: "emulator.workspace-routing",
  ...controlOperation,
  summary: "Show the routing data of a workspace",
  description:
    "Lists the identifiers that route to this workspace alone, by table. svc router offboard --workspace removes them.",
  path: "/_emulator/workspaces/{workspace_id}/routing",
  request: { params: workspaceParams },
  responses: { 200: json(WorkspaceRouting) },
  failures: ["no-such-workspace"],
  cli: { command: "emulator workspaces routing" },
  examples: [{ title: "Show the routing data before offboarding", params: { workspace_id: 1 } }],
});

export const removeWorkspace = defineOperation({
  id: "emulator.remove-workspace",
  ...controlOperation,
  summary: "Remove a workspace with everything in it",
  description:
    "Removes its API key, people, templates, webhooks, contracts, e-mails, deliveries, scheduled work and routing data. Unreferenced uploads are removed after 30 days. The last workspace of a cluster cannot be removed. To undo it: svc emulator rewind --steps 1.",
  method: "DELETE",
  path: "/_emulator/workspaces/{workspace_id}",
  role: "admin",
  request: { params: workspaceParams },
  responses: {
    200: json(
      z.strictObject({
        id: z.int(),
        cluster_id: z.string(),
        name: z.string(),
        contracts: z.int().describe("Number of removed rows, as are the following"),
        webhooks: z.int(),
        deliveries: z.int(),
      }),
    ),
  },
  failures: ["no-such-workspace", "last-workspace"],
  cli: { command: "emulator workspaces remove", confirm: "yes" },
  basis: { assumed: "The control plane is part of the emulator (DECISIONS.md, E20)." },
  examples: [{ title: "Remove the workspace of a team", params: { workspace_id: 4 } }],
});

export const exportState = defineOperation({
  id: "state.export",
  ...controlOperation,
  summary: "Print the whole state as one JSON document",
  description: "It does not include the bytes of uploads.",
  path: "/_emulator/state",
  role: "admin",
  responses: { 200: jsonInPieces(State) },
  cli: { command: "emulator state export" },
  examples: [{ title: "Export the state" }],
});

/** The state reader validates the format, so this schema declares no field. */
const Document = z.looseObject({});

const ImportResult = z.strictObject({
  now: timestamp.describe("Virtual time of the restored state"),
  backup_snapshot: nullableString.describe("Snapshot of the previous state; null if it was identical"),
});

export const importState = defineOperation({
  id: "state.import",
  ...controlOperation,
  summary: "Replace the whole state with an exported one",
  description:
    "Accepts an exported document, up to 500 MiB. The current state is saved first as snapshot before-N (ten are kept): " +
    "svc emulator snapshot restore before-N restores it. The history starts again.",
  method: "PUT",
  path: "/_emulator/state",
  role: "admin",
  request: { body: json(Document, { maxBytes: maxStateBytes }) },
  responses: { 200: json(ImportResult) },
  failures: ["invalid-state", "foreign-clusters"],
  cli: { command: "emulator state import", columns: ["now", "backup_snapshot"], confirm: "yes" },
  examples: [],
});

export const resetState = defineOperation({
  id: "state.reset",
  ...controlOperation,
  summary: "Reset the state to the seed",
  description:
    "Removes contracts, webhooks, deliveries, inboxes and faults, and sets virtual time as on a new start. With --deterministic IDs start again. Keys, secrets, the request log and the clock mode are kept.",
  method: "POST",
  path: "/_emulator/reset",
  role: "admin",
  responses: { 204: empty() },
  cli: { command: "emulator reset", confirm: "yes" },
  examples: [{ title: "Reset between tests" }],
});
