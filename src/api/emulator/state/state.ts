import * as z from "zod";
import { assumed } from "../../basis.ts";
import { empty, json, jsonInPieces, operation } from "../../operation.ts";
import { emulator } from "../../services.ts";
import { timestamp } from "../../timestamp.ts";

const ours = assumed("The control plane is the emulator's own.");

const State = z.looseObject({
  svc_state: z.int().describe("Version of this format"),
});

/** A text of Node holds no more than 512 MiB. */
const maxStateBytes = 500 * 1_024 * 1_024;

const WorkspaceInfo = z.strictObject({
  id: z.int(),
  cluster_id: z.string(),
  name: z.string(),
  client_id: z.string(),
  client_secret: z.string(),
  hmac_key: z.string(),
  industry: z.string().nullable().describe("As its trial said"),
  use_case: z.string().nullable(),
  plan: z.string().nullable().describe("As the billing provider reported last"),
  is_suspended: z.boolean().describe("Whether the billing provider reported a paused or cancelled subscription"),
  intake_workflows: z
    .array(z.strictObject({ id: z.int(), title: z.string() }))
    .describe("Those that are published, which an intake may name"),
  creator_tokens: z.array(z.string()).describe("Of the seed, and of members who have not accepted their invitation"),
  counterparty_tokens: z.array(z.string()).describe("Of the seed, and of contracts that have not ended"),
});

export const listWorkspaces = operation({
  id: "emulator.workspaces",
  service: emulator,
  summary: "List workspaces with their keys",
  description: "The table hides the secrets. --json and --fields client_secret,hmac_key show them.",
  method: "GET",
  path: "/_emulator/workspaces",
  auth: "control-token",
  request: {},
  responses: { 200: json(z.array(WorkspaceInfo)) },
  failures: [],
  cli: { command: "emulator workspaces", columns: ["id", "cluster_id", { name: "name", cut: 1 }, "client_id"] },
  basis: ours,
  examples: [{ title: "Which API key belongs to which workspace?" }],
});

export const createWorkspace = operation({
  id: "emulator.create-workspace",
  service: emulator,
  summary: "Create a workspace with its own keys and templates",
  description:
    "Workspaces cannot see each other, and do not delay each other's deliveries. A reset removes the workspace.",
  method: "POST",
  path: "/_emulator/workspaces",
  auth: "control-token",
  role: "admin",
  request: {
    body: json(
      z.object({
        name: z.string().min(1).max(200).describe("Name of the workspace; must be unique"),
        template: z
          .enum(["demo", "empty"])
          .default("demo")
          .describe("demo: with templates, contract types, workflows and roles; empty: without"),
        cluster_id: z.string().optional().describe("Cluster of the workspace (default: the first emulated one)"),
      }),
    ),
  },
  responses: { 201: json(WorkspaceInfo) },
  failures: ["no-such-cluster-here", "external-cluster", "workspace-there"],
  cli: {
    command: "emulator workspaces create",
    columns: ["id", "cluster_id", "name", "client_id", "client_secret", "hmac_key"],
  },
  basis: ours,
  examples: [{ title: "For a team", body: { name: "Team A" } }],
});

const routedKeys = (what: string) => z.array(z.string()).describe(what);

const WorkspaceRouting = z.strictObject({
  id: z.int(),
  cluster_id: z.string(),
  name: z.string(),
  cluster_emails: routedKeys("Hashes of the addresses of its people"),
  cluster_clients: routedKeys("The client id of its API key"),
  creator_tokens: routedKeys("Invite tokens of creators"),
  counterparty_tokens: routedKeys("Invite tokens of counterparties"),
  chat_a_teams: routedKeys("Team ids of chat_a"),
  external_integrations: routedKeys("External ids with their type"),
  user_codes: routedKeys("User codes of devices that its people have approved"),
  signatories: routedKeys("Hashes of the addresses of who signs its contracts"),
});

export const showWorkspaceRouting = operation({
  id: "emulator.workspace-routing",
  service: emulator,
  summary: "Show the routing data that leads to a workspace",
  description:
    "Lists the identifiers that route to this workspace alone, by table. svc router offboard --workspace removes them.",
  method: "GET",
  path: "/_emulator/workspaces/{workspace_id}/routing",
  auth: "control-token",
  request: { params: z.object({ workspace_id: z.int().describe("As svc emulator workspaces lists it") }) },
  responses: { 200: json(WorkspaceRouting) },
  failures: ["no-such-workspace"],
  cli: { command: "emulator workspaces routing" },
  basis: ours,
  examples: [{ title: "What would an offboarding remove?", params: { workspace_id: 1 } }],
});

export const removeWorkspace = operation({
  id: "emulator.remove-workspace",
  service: emulator,
  summary: "Remove a workspace with everything in it",
  description:
    "Removes its API key, people, templates, webhooks, contracts, e-mails, deliveries, scheduled work and routing data. Unreferenced uploads are removed after 30 days. The last workspace of a cluster cannot be removed. To undo it: svc emulator rewind --steps 1.",
  method: "DELETE",
  path: "/_emulator/workspaces/{workspace_id}",
  auth: "control-token",
  role: "admin",
  request: {
    params: z.object({ workspace_id: z.int().describe("ID of the workspace, from svc emulator workspaces") }),
  },
  responses: {
    200: json(
      z.strictObject({
        id: z.int(),
        cluster_id: z.string(),
        name: z.string(),
        contracts: z.int().describe("How many went with it, as are the following"),
        webhooks: z.int(),
        deliveries: z.int(),
      }),
    ),
  },
  failures: ["no-such-workspace", "last-workspace"],
  cli: { command: "emulator workspaces remove", confirm: "yes" },
  basis: assumed("The control plane is the emulator's own (DECISIONS.md, E20)."),
  examples: [{ title: "The team has moved on", params: { workspace_id: 4 } }],
});

export const exportState = operation({
  id: "state.export",
  service: emulator,
  summary: "Print the whole state as one JSON document",
  method: "GET",
  path: "/_emulator/state",
  auth: "control-token",
  role: "admin",
  request: {},
  responses: { 200: jsonInPieces(State) },
  failures: [],
  cli: { command: "emulator state export" },
  basis: ours,
  examples: [{ title: "Keep a state for later" }],
});

/** Whether it is a state, and of which format, its reader says: a field of it is nothing that anybody gives by itself. */
const Document = z.looseObject({});

const Imported = z.strictObject({
  now: timestamp.describe("Virtual time from which it goes on"),
  backup_snapshot: z
    .string()
    .nullable()
    .describe("The snapshot that holds the state which was left; null: it was the same"),
});

export const importState = operation({
  id: "state.import",
  service: emulator,
  summary: "Replace the whole state with an exported one",
  description:
    "Takes the exported document, up to 500 MiB. The current state is saved first, as before-1, before-2 and so on (ten are kept): " +
    "svc emulator snapshot restore before-1 restores it. The history starts again.",
  method: "PUT",
  path: "/_emulator/state",
  auth: "control-token",
  role: "admin",
  request: { body: json(Document, { maxBytes: maxStateBytes }) },
  responses: { 200: json(Imported) },
  failures: ["invalid-state", "foreign-clusters"],
  cli: { command: "emulator state import", columns: ["now", "backup_snapshot"], confirm: "yes" },
  basis: ours,
  examples: [],
});

export const resetState = operation({
  id: "state.reset",
  service: emulator,
  summary: "Reset the state to the seed",
  description:
    "Removes contracts, webhooks, deliveries, inboxes and faults, and sets virtual time as on a new start. With --deterministic IDs start again. Keys, secrets, the request log and the clock mode are kept.",
  method: "POST",
  path: "/_emulator/reset",
  auth: "control-token",
  role: "admin",
  request: {},
  responses: { 204: empty() },
  failures: [],
  cli: { command: "emulator reset", confirm: "yes" },
  basis: ours,
  examples: [{ title: "Start the next test from the beginning" }],
});
