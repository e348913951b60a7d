import {
  contractTypes,
  entities,
  roles,
  templates,
  type User,
  users,
  type Workspace,
  workflows,
  workspaces,
} from "../../domain/workspaces.ts";
import type { Rows, Transaction } from "../../store/port.ts";
import type { ClusterContext, StandardSet } from "../context.ts";
import { createPersonId } from "./users.ts";
import { createUnusedId } from "./workspace-rows.ts";

export interface NewWorkspaceOptions extends Pick<Workspace, "name" | "industry" | "use_case"> {
  readonly owner: Pick<User, "name" | "email" | "designation">;
}

/** The workspace has an API key for its owner, the standard set, and an entity with its name (DECISIONS.md, R24). */
export async function addWorkspace(
  tx: Transaction,
  { cluster, ids, getStandardSet }: Pick<ClusterContext, "cluster" | "ids" | "getStandardSet">,
  { name, industry, use_case, owner }: NewWorkspaceOptions,
): Promise<Workspace> {
  const standardSet = getStandardSet();
  const id = await createUnusedId(tx, workspaces, "workspace");
  const userId = await createPersonId(tx);
  const roleId = await createUnusedId(tx, roles, "role");
  const workspace: Workspace = {
    id,
    cluster_id: cluster.id,
    name,
    industry,
    use_case,
    client_id: ids.uuid(),
    client_secret: ids.token(24),
    acting_user_id: userId,
    permissions: ["developer_settings"],
    hmac_key: ids.bytes(64).toString("base64"),
    retry_schedule: null,
    organization_types: standardSet.organization_types,
    jurisdictions: standardSet.jurisdictions,
    creator_tokens: [],
    counterparty_tokens: [],
    chat_a_teams: [],
    chat_b_tenants: [],
    plan: null,
    is_suspended: false,
    billed_at: null,
  };
  tx.put(workspaces, workspace);
  tx.put(users, { ...owner, id: userId, workspace_id: id, is_active: true, roles: [roleId] });
  tx.put(roles, { id: roleId, workspace_id: id, name: "Admin" });
  tx.put(entities, {
    id: await createUnusedId(tx, entities, "entity"),
    workspace_id: id,
    reference_id: `WS-${id}`,
    name,
    jurisdiction: "United States",
    type: "Corporation",
    is_primary: true,
  });
  await addStandardSet(tx, standardSet, id);
  return workspace;
}

async function addStandardSet(tx: Transaction, standardSet: StandardSet, workspace_id: number): Promise<void> {
  const roleIds = await assignIds(tx, roles, "role", standardSet.roles);
  const typeIds = await assignIds(tx, contractTypes, "contract_type", standardSet.contract_types);
  const templateIds = await assignIds(tx, templates, "template", standardSet.templates);
  const workflowIds = await assignIds(tx, workflows, "workflow", standardSet.workflows);
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

async function assignIds<Row extends { readonly id: number }>(
  tx: Transaction,
  collection: Rows<Row, string, number>,
  sequence: string,
  rows: readonly Row[],
): Promise<ReadonlyMap<number, number>> {
  const newIds = new Map<number, number>();
  for (const { id } of rows) newIds.set(id, await createUnusedId(tx, collection, sequence));
  return newIds;
}
