import { hashEmail } from "../../../src/schemes/email-hash.ts";
import { contracts } from "../../cluster/contracts/rows.ts";
import { deviceApprovals } from "../../cluster/identity/grants.ts";
import { installations } from "../../cluster/installations.ts";
import { invitations } from "../../cluster/invitations/invite.ts";
import { deviceGrants } from "../../router/device/rows.ts";
import { signatories, signatoryKey } from "../../router/mapping/signatories.ts";
import { mappingTables as tables } from "../../router/mapping/tables.ts";
import type { Mapping, View } from "../../store/port.ts";
import { users, type Workspace, workspaces } from "../../world/workspaces.ts";

/** The routing data of a workspace, by the table that has it. */
export type WorkspaceRouting = Readonly<Record<keyof typeof tables | "signatories", string[]>>;

/**
 * Identifiers that lead to a workspace and are mapped to its cluster: of its key, its people, its invitations, its apps
 * and devices, and the signers of its contracts. Identifiers that also lead to another workspace of the cluster are not
 * among them.
 */
export async function readWorkspaceRouting(view: View, workspace: Workspace): Promise<WorkspaceRouting> {
  const { id, cluster_id } = workspace;
  const invited = await view.list(invitations, { by: "workspace", equals: id });
  const tokensOf = (wanted: string) => invited.flatMap(({ kind, token }) => (kind === wanted ? token : []));
  const neighbors = (await view.list(workspaces)).filter((one) => one.cluster_id === cluster_id && one.id !== id);
  const neighborIds = new Set(neighbors.map((one) => one.id));
  const all = await view.list(users);
  const hashesOf = (isOf: (workspaceId: number) => boolean) =>
    all.flatMap(({ workspace_id, email }) => (isOf(workspace_id) ? hashEmail(email) : []));
  const teams = (await view.list(installations)).flatMap(({ app, cluster_id: cluster, workspace_id, account }) =>
    app === "chat_a" && cluster === cluster_id && account ? [{ workspace_id, team: account.id }] : [],
  );
  const teamsOf = (isOf: (workspaceId: number) => boolean) =>
    teams.flatMap(({ workspace_id, team }) => (isOf(workspace_id) ? team : []));
  const isOwn = (workspaceId: number) => workspaceId === id;
  const isNeighbor = (workspaceId: number) => neighborIds.has(workspaceId);
  const mapped = async (table: Mapping, keys: readonly string[], others: readonly string[] = []) => {
    const kept = new Set(others);
    const found: string[] = [];
    for (const key of new Set(keys)) {
      if (!kept.has(key) && (await view.lookup(table, key)) === cluster_id) found.push(key);
    }
    return found;
  };
  const tenants = (of: Workspace) => of.chat_b_tenants.map((tenant) => `CHAT_B:${tenant}`);
  return {
    cluster_emails: await mapped(tables.cluster_emails, hashesOf(isOwn), hashesOf(isNeighbor)),
    cluster_clients: await mapped(tables.cluster_clients, [workspace.client_id]),
    creator_tokens: await mapped(tables.creator_tokens, [...workspace.creator_tokens, ...tokensOf("creator")]),
    counterparty_tokens: await mapped(tables.counterparty_tokens, [
      ...workspace.counterparty_tokens,
      ...tokensOf("counterparty"),
    ]),
    chat_a_teams: await mapped(
      tables.chat_a_teams,
      [...workspace.chat_a_teams, ...teamsOf(isOwn)],
      [...neighbors.flatMap((one) => one.chat_a_teams), ...teamsOf(isNeighbor)],
    ),
    external_integrations: await mapped(tables.external_integrations, tenants(workspace), neighbors.flatMap(tenants)),
    user_codes: await mapped(
      tables.user_codes,
      await userCodesOf(view, new Set(all.flatMap((user) => (isOwn(user.workspace_id) ? user.id : [])))),
    ),
    signatories: await signatoriesOf(view, cluster_id, isOwn),
  };
}

/** Of devices that people of the workspace have approved. */
async function userCodesOf(view: View, people: ReadonlySet<number>): Promise<string[]> {
  const codes: string[] = [];
  for (const { device_code, user_id } of await view.list(deviceApprovals)) {
    const grant = people.has(user_id) ? await view.get(deviceGrants, device_code) : undefined;
    if (grant) codes.push(grant.user_code);
  }
  return codes;
}

async function signatoriesOf(view: View, cluster: string, isOwn: (workspaceId: number) => boolean): Promise<string[]> {
  const own = new Set<string>();
  const others = new Set<string>();
  for (const contract of await view.list(contracts)) {
    if (contract.cluster_id !== cluster) continue;
    for (const { email } of contract.signatories) (isOwn(contract.workspace_id) ? own : others).add(hashEmail(email));
  }
  const found: string[] = [];
  for (const hash of own) {
    if (!others.has(hash) && (await view.get(signatories, signatoryKey(cluster, hash)))) found.push(hash);
  }
  return found;
}
