import { entities, roles, type User, users, type Workspace, workspaces } from "../../domain/workspaces.ts";
import type { Transaction } from "../../store/port.ts";
import type { ClusterContext } from "../context.ts";
import { freeId } from "./free-id.ts";
import { addStandardSet } from "./standard-set.ts";
import { createPersonId } from "./users.ts";

/** The owner and the purpose. */
export interface WorkspaceSpec extends Pick<Workspace, "name" | "industry" | "use_case"> {
  readonly owner: Pick<User, "name" | "email" | "designation">;
}

/**
 * Creates a usable workspace: an API key that acts for its owner, the standard set, and an entity with its name
 * (DECISIONS.md, R24).
 */
export async function addWorkspace(
  tx: Transaction,
  { cluster, ids, getStandardSet }: Pick<ClusterContext, "cluster" | "ids" | "getStandardSet">,
  { name, industry, use_case, owner }: WorkspaceSpec,
): Promise<Workspace> {
  const set = getStandardSet();
  const id = await freeId(tx, workspaces, "workspace");
  const userId = await createPersonId(tx);
  const roleId = await freeId(tx, roles, "role");
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
    organization_types: set.organization_types,
    jurisdictions: set.jurisdictions,
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
    id: await freeId(tx, entities, "entity"),
    workspace_id: id,
    reference_id: `WS-${id}`,
    name,
    jurisdiction: "United States",
    type: "Corporation",
    is_primary: true,
  });
  await addStandardSet(tx, set, id);
  return workspace;
}
