import * as z from "zod";
import { retrySchedule } from "../../src/api/shapes.ts";
import { toAddressKey } from "../../src/base/email-address.ts";
import { defineRows, type Rows, storedTime, type View } from "../store/port.ts";

export const User = z.strictObject({
  id: z.int(),
  workspace_id: z.int(),
  name: z.string(),
  email: z.string(),
  designation: z.string().nullable().default(null),
  is_active: z.boolean().default(true),
  roles: z.array(z.int()).default([]),
});
export type User = z.infer<typeof User>;

export const WorkspaceRole = z.strictObject({ id: z.int(), workspace_id: z.int(), name: z.string() });
export type WorkspaceRole = z.infer<typeof WorkspaceRole>;

/** A tenant of a cluster, with its API key and its webhook key. Workspaces are isolated from each other. */
export const Workspace = z.strictObject({
  id: z.int(),
  cluster_id: z.string(),
  name: z.string(),
  /** Company data and purpose from the trial. Null if unknown. */
  industry: z.string().nullable().default(null),
  use_case: z.string().nullable().default(null),
  client_id: z.string(),
  client_secret: z.string(),
  /** The user for whom the API key acts. */
  acting_user_id: z.int(),
  /** Permissions of the API key. Creating and deleting webhooks requires `developer_settings` (DECISIONS.md, C2). */
  permissions: z.array(z.enum(["developer_settings"])).default(["developer_settings"]),
  /** 64 bytes in base64. */
  hmac_key: z.string(),
  /** Delays before the retries of the workspace's webhooks. Null to use the emulator's schedule. */
  retry_schedule: retrySchedule
    .nullable()
    .default(null)
    .describe("Delays before the retries of a webhook: 5m, PT5M (default: --retry-schedule)"),
  /** Labels for `organization_type`. */
  organization_types: z.array(z.strictObject({ id: z.int(), name: z.string(), jurisdiction: z.string().optional() })),
  /** Values for `jurisdiction_iso_code`. */
  jurisdictions: z.array(z.strictObject({ id: z.int(), name: z.string(), iso_code: z.string() })),
  creator_tokens: z.array(z.string()).default([]),
  counterparty_tokens: z.array(z.string()).default([]),
  /** Teams of chat_a and tenants of chat_b whose events are about contracts of this workspace. */
  chat_a_teams: z.array(z.string()).default([]),
  chat_b_tenants: z.array(z.string()).default([]),
  /** Last plan that the billing provider reported (DECISIONS.md, R32). Null before the first report. */
  plan: z.string().nullable().default(null),
  is_suspended: z.boolean().default(false),
  /** Time of the billing provider's newest event, in milliseconds. */
  billed_at: storedTime(z.number()).nullable().default(null),
});
export type Workspace = z.infer<typeof Workspace>;

export const LegalEntity = z.strictObject({
  id: z.int(),
  workspace_id: z.int(),
  reference_id: z.string(),
  name: z.string(),
  jurisdiction: z.string(),
  type: z.string(),
  is_primary: z.boolean().default(false),
  address: z
    .strictObject({
      line_one: z.string(),
      city: z.string(),
      state: z.string(),
      country: z.string(),
      zipcode: z.string(),
    })
    .optional(),
});
export type LegalEntity = z.infer<typeof LegalEntity>;

/** A question of an intake form or an attribute of a template (DECISIONS.md, F16, F22). */
export const IntakeQuestion = z.strictObject({
  variable: z.string(),
  display_label: z.string(),
  type: z.enum([
    "string",
    "boolean",
    "int",
    "float",
    "enum",
    "date",
    "array of strings",
    "array of options",
    "repeating",
  ]),
  required: z.boolean().default(true),
  options: z.array(z.strictObject({ label: z.string(), value: z.string() })).optional(),
  default_value: z.unknown().optional(),
  help_text: z.string().optional(),
});
export type IntakeQuestion = z.infer<typeof IntakeQuestion>;

/** A contract type, with its third-party-paper routes (DECISIONS.md, C9). */
export const ContractType = z.strictObject({
  id: z.int(),
  workspace_id: z.int(),
  name: z.string(),
  routes: z.array(z.enum(["review", "sign"])).default([]),
  default_reviewer_role_id: z.int().nullable().default(null),
  intake_form: z.array(IntakeQuestion).default([]),
  /** True if the workflow allows later changes of answers (DECISIONS.md, C14). */
  editable_response: z.boolean().default(false),
});
export type ContractType = z.infer<typeof ContractType>;

/** A contract template (DECISIONS.md, C10 and C11). */
export const ContractTemplate = z.strictObject({
  id: z.int(),
  workspace_id: z.int(),
  name: z.string(),
  contract_type_id: z.int(),
  signature_capable: z.boolean().default(true),
  counter_party_kind: z.enum(["Individual", "Organisation", "Both"]).default("Both"),
  attributes: z.array(IntakeQuestion).default([]),
  /** Slot in which a user of the creator's side signs. Null if there is none. */
  creator_slot: z
    .strictObject({
      required: z.boolean(),
      signatory: z.strictObject({ name: z.string(), email: z.string() }).nullable().default(null),
    })
    .nullable()
    .default(null),
  /** True if sending the contract first shares it for review: DRAFT → REDLINING. */
  counterparty_review: z.boolean().default(false),
  tags: z.array(z.string()).default([]),
  archived: z.boolean().default(false),
});
export type ContractTemplate = z.infer<typeof ContractTemplate>;

/** `frozen_version` is the published version, if any (specification, Legal intake). */
export const IntakeWorkflow = z.strictObject({
  id: z.int(),
  workspace_id: z.int(),
  title: z.string(),
  description: z.string().default(""),
  type: z.enum(["TEMPLATE_WORKFLOW", "UPLOAD_WORKFLOW", "INTAKE_WORKFLOW"]),
  frozen_version: z.strictObject({ id: z.int() }).nullable(),
});
export type IntakeWorkflow = z.infer<typeof IntakeWorkflow>;

const getId = (row: { readonly id: number }): number => row.id;
const byWorkspace = { workspace: (row: { readonly workspace_id: number }) => row.workspace_id };

const defineWorkspaceRows = <Row extends { readonly id: number; readonly workspace_id: number }>(
  name: string,
  schema: z.ZodType<Row>,
): Rows<Row, "workspace", number> => defineRows({ name, schema, key: getId, indexes: byWorkspace });

export const workspaces = defineRows({
  name: "workspaces",
  schema: Workspace,
  key: getId,
  refersTo: ({ acting_user_id }) => ({ acting_user_id: { collection: "users", key: acting_user_id } }),
  indexes: {
    client: (row) => row.client_id,
    cluster: (row) => row.cluster_id,
    /** Invite tokens come from the seed. */
    invite: (row) => [...row.creator_tokens, ...row.counterparty_tokens],
  },
});

/** Returns the workspace whose API key is the default of a cluster. */
export const getFirstWorkspace = (view: View, clusterId: string): Workspace | undefined =>
  view.list(workspaces, { by: "cluster", equals: clusterId, limit: 1 })[0];

export const users = defineRows({
  name: "users",
  schema: User,
  key: getId,
  refersTo: ({ workspace_id }) => ({ workspace_id: { collection: "workspaces", key: workspace_id } }),
  indexes: { ...byWorkspace, email: (row) => toAddressKey(row.email) },
});
export const roles = defineWorkspaceRows("roles", WorkspaceRole);
export const entities = defineWorkspaceRows("entities", LegalEntity);
export const contractTypes = defineWorkspaceRows("contract_types", ContractType);
export const templates = defineWorkspaceRows("templates", ContractTemplate);
export const workflows = defineWorkspaceRows("workflows", IntakeWorkflow);

/** Only the emulator has this path, at which the router requests the workspace of a completed signup. */
export const newWorkspacePath = "/api/v1/organization/trial_signup/";

/** Body of the request for a new workspace, which has the cluster's key in `x-cluster-key`. */
export const NewWorkspaceRequest = z.object({
  /** A cluster returns the same workspace for the same token, because the router can stop before the response. */
  signup_token: z.string(),
  email: z.string(),
  first_name: z.string(),
  last_name: z.string().nullable(),
  job_title: z.string(),
  company_name: z.string(),
  industry: z.string(),
  use_case: z.string(),
  invited_users: z.array(z.strictObject({ email: z.string(), first_name: z.string() })),
});
export type NewWorkspaceRequest = z.infer<typeof NewWorkspaceRequest>;

/** A cluster's response for the router to map. An external back end may return anything. */
export const NewWorkspaceResponse = z.object({
  workspace_id: z.int().nullable().catch(null),
  client_id: z.string().nullable().catch(null),
  creator_tokens: z.array(z.string()).catch([]),
});

/** A creator becomes a member of a workspace, and a counterparty is a party of one of its contracts. */
export const invitationKinds = ["creator", "counterparty"] as const;
export type InvitationKind = (typeof invitationKinds)[number];

/** Returns the kind for the `email_type` of a link, which has two spellings. Returns undefined for any other value. */
export function findInvitationKind(emailType: string): InvitationKind | undefined {
  if (emailType === "creator") return "creator";
  return /^counter_?party$/.test(emailType) ? "counterparty" : undefined;
}
