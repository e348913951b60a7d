import * as z from "zod";
import { toAddressKey } from "../../../src/base/email-address.ts";
import { isEqualInConstantTime } from "../../../src/base/hmac.ts";
import {
  contractTypes,
  entities,
  NewWorkspaceRequest,
  roles,
  templates,
  type User,
  users,
  Workspace,
  workflows,
  workspaces,
} from "../../domain/workspaces.ts";
import { parseJsonObject } from "../../http/bodies/fields.ts";
import { createJsonPassthrough } from "../../http/reply.ts";
import { defineRows, type Rows, type Transaction, type View } from "../../store/port.ts";
import type { ClusterContext, ForwardedHandler, StandardSet } from "../context.ts";
import { invitations, inviteMember } from "../invitations/invite.ts";
import { createPersonId } from "./users.ts";
import { createUnusedId } from "./workspace-rows.ts";

interface NewWorkspaceOptions extends Pick<Workspace, "name" | "industry" | "use_case"> {
  readonly owner: Pick<User, "name" | "email" | "designation">;
}

/** The workspace has an API key for its owner, the standard set, and an entity with its name (DECISIONS.md, R24). */
export function addWorkspace(
  tx: Transaction,
  { cluster, ids, getStandardSet }: Pick<ClusterContext, "cluster" | "ids" | "getStandardSet">,
  { name, industry, use_case, owner }: NewWorkspaceOptions,
): Workspace {
  const standardSet = getStandardSet();
  const id = createUnusedId(tx, workspaces, "workspace");
  const userId = createPersonId(tx);
  const roleId = createUnusedId(tx, roles, "role");
  const workspace = Workspace.parse({
    id,
    cluster_id: cluster.id,
    name,
    industry,
    use_case,
    client_id: ids.uuid(),
    client_secret: ids.token(24),
    acting_user_id: userId,
    hmac_key: ids.bytes(64).toString("base64"),
    organization_types: standardSet.organization_types,
    jurisdictions: standardSet.jurisdictions,
  });
  tx.put(workspaces, workspace);
  tx.put(users, { ...owner, id: userId, workspace_id: id, is_active: true, roles: [roleId] });
  tx.put(roles, { id: roleId, workspace_id: id, name: "Admin" });
  tx.put(entities, {
    id: createUnusedId(tx, entities, "entity"),
    workspace_id: id,
    reference_id: `WS-${id}`,
    name,
    jurisdiction: "United States",
    type: "Corporation",
    is_primary: true,
  });
  addStandardSet(tx, standardSet, id);
  return workspace;
}

function addStandardSet(tx: Transaction, standardSet: StandardSet, workspace_id: number): void {
  const roleIds = assignIds(tx, roles, "role", standardSet.roles);
  const typeIds = assignIds(tx, contractTypes, "contract_type", standardSet.contract_types);
  const templateIds = assignIds(tx, templates, "template", standardSet.templates);
  const workflowIds = assignIds(tx, workflows, "workflow", standardSet.workflows);
  for (const row of standardSet.roles) tx.put(roles, { ...row, id: roleIds.get(row.id)!, workspace_id });
  for (const row of standardSet.contract_types) {
    const { default_reviewer_role_id: reviewer } = row;
    const default_reviewer_role_id = reviewer === null ? null : roleIds.get(reviewer)!;
    tx.put(contractTypes, { ...row, id: typeIds.get(row.id)!, workspace_id, default_reviewer_role_id });
  }
  for (const row of standardSet.templates) {
    const contract_type_id = typeIds.get(row.contract_type_id)!;
    tx.put(templates, { ...row, id: templateIds.get(row.id)!, workspace_id, contract_type_id });
  }
  for (const row of standardSet.workflows) {
    const id = workflowIds.get(row.id)!;
    tx.put(workflows, { ...row, id, workspace_id, frozen_version: row.frozen_version && { id: getFirstVersion(id) } });
  }
}

/** The demo seed numbers its versions in the same way. */
const getFirstVersion = (workflowId: number): number => workflowId * 10;

function assignIds<Row extends { readonly id: number }>(
  tx: Transaction,
  collection: Rows<Row, string, number>,
  sequence: string,
  rows: readonly Row[],
): ReadonlyMap<number, number> {
  return new Map(rows.map(({ id }) => [id, createUnusedId(tx, collection, sequence)]));
}

/** Maps a signup to its workspace, so that a repeated request does not create it twice. */
export const trialWorkspaces = defineRows({
  name: "trial_workspaces",
  schema: z.strictObject({ signup_token: z.string(), workspace_id: z.int() }),
  key: (row) => row.signup_token,
});

/** Creates the workspace of a completed signup, at the router's request (DECISIONS.md, R24). */
export const createTrialWorkspace: ForwardedHandler = async ({ headers, body }, context) => {
  const { store, cluster } = context;
  if (!isEqualInConstantTime(headers["x-cluster-key"] ?? "", cluster.key))
    return createJsonPassthrough(401, { detail: "Invalid cluster key" });
  const request = NewWorkspaceRequest.safeParse(parseJsonObject(body));
  if (!request.success) return createJsonPassthrough(400, { detail: "The request is not a valid workspace request" });
  return store.transaction("create a trial workspace", (tx) => {
    const signup = tx.get(trialWorkspaces, request.data.signup_token);
    const workspace = signup ? tx.get(workspaces, signup.workspace_id) : addTrialWorkspace(tx, context, request.data);
    if (!workspace) throw new Error(`The workspace of signup ${request.data.email} no longer exists`);
    const openInvitations = tx.list(invitations, { by: "open", equals: workspace.id });
    return createJsonPassthrough(201, {
      workspace_id: workspace.id,
      client_id: workspace.client_id,
      creator_tokens: [
        ...workspace.creator_tokens,
        ...openInvitations.flatMap(({ kind, token }) => (kind === "creator" ? token : [])),
      ],
    });
  });
};

function addTrialWorkspace(tx: Transaction, context: ClusterContext, request: NewWorkspaceRequest) {
  const { signup_token, first_name, last_name, job_title, company_name, industry, use_case } = request;
  const name = [first_name, last_name].filter(Boolean).join(" ");
  const owner = { name, email: request.email.trim(), designation: job_title };
  const workspace = addWorkspace(tx, context, { name: company_name, industry, use_case, owner });
  // Each address is one member. A repeated address and the owner's address are not invited again.
  const members = new Set([toAddressKey(owner.email)]);
  for (const { email, first_name } of request.invited_users) {
    if (members.has(toAddressKey(email))) continue;
    members.add(toAddressKey(email));
    inviteMember(tx, context, workspace, { email: email.trim(), name: first_name });
  }
  tx.put(trialWorkspaces, { signup_token, workspace_id: workspace.id });
  return workspace;
}
/** Inactive users count too. The signup's own workspace does not, so that the signup can be repeated. */
export function hasAccount(
  view: View,
  { email, token }: { readonly email: string; readonly token?: string | undefined },
): boolean {
  const trialWorkspace = token === undefined ? undefined : view.get(trialWorkspaces, token);
  const matches = view.list(users, { by: "email", equals: toAddressKey(email) });
  return matches.some(({ workspace_id }) => workspace_id !== trialWorkspace?.workspace_id);
}
