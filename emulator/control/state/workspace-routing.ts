import { hashEmail } from "../../../src/schemes/email-hash.ts";
import { contracts } from "../../cluster/contracts/rows.ts";
import { deviceApprovals } from "../../cluster/identity/grants.ts";
import { installations } from "../../cluster/installations.ts";
import { invitations } from "../../cluster/invitations/invite.ts";
import { users, type Workspace, workspaces } from "../../domain/workspaces.ts";
import { deviceGrants } from "../../router/device/rows.ts";
import { buildSignatoryKey, signatories } from "../../router/mapping/signatories.ts";
import { mappingTables as tables } from "../../router/mapping/tables.ts";
import type { Mapping, View } from "../../store/port.ts";

/** The routing data of a workspace, by table. */
export type WorkspaceRouting = Readonly<Record<keyof typeof tables | "signatories", string[]>>;

/**
 * Identifiers that map a workspace to its cluster: of its key, its people, its invitations, its apps and devices, and
 * the signatories of its contracts. Identifiers that another workspace of the cluster also has are excluded.
 */
export async function readWorkspaceRouting(view: View, workspace: Workspace): Promise<WorkspaceRouting> {
  const { id, cluster_id } = workspace;
  const invited = await view.list(invitations, { by: "workspace", equals: id });
  const listTokens = (wanted: string) => invited.flatMap(({ kind, token }) => (kind === wanted ? token : []));
  const neighbors = (await view.list(workspaces)).filter((one) => one.cluster_id === cluster_id && one.id !== id);
  const neighborIds = new Set(neighbors.map((one) => one.id));
  const all = await view.list(users);
  const listHashes = (isOf: (workspaceId: number) => boolean) =>
    all.flatMap(({ workspace_id, email }) => (isOf(workspace_id) ? hashEmail(email) : []));
  const teams = (await view.list(installations)).flatMap(({ app, cluster_id: cluster, workspace_id, account }) =>
    app === "chat_a" && cluster === cluster_id && account ? [{ workspace_id, team: account.id }] : [],
  );
  const listTeams = (isOf: (workspaceId: number) => boolean) =>
    teams.flatMap(({ workspace_id, team }) => (isOf(workspace_id) ? team : []));
  const isOwn = (workspaceId: number) => workspaceId === id;
  const isNeighbor = (workspaceId: number) => neighborIds.has(workspaceId);
  const filterMapped = async (table: Mapping, keys: readonly string[], others: readonly string[] = []) => {
    const mappedKeys = new Set(others);
    const found: string[] = [];
    for (const key of new Set(keys)) {
      if (!mappedKeys.has(key) && (await view.lookup(table, key)) === cluster_id) found.push(key);
    }
    return found;
  };
  const listTenants = (of: Workspace) => of.chat_b_tenants.map((tenant) => `CHAT_B:${tenant}`);
  return {
    cluster_emails: await filterMapped(tables.cluster_emails, listHashes(isOwn), listHashes(isNeighbor)),
    cluster_clients: await filterMapped(tables.cluster_clients, [workspace.client_id]),
    creator_tokens: await filterMapped(tables.creator_tokens, [...workspace.creator_tokens, ...listTokens("creator")]),
    counterparty_tokens: await filterMapped(tables.counterparty_tokens, [
      ...workspace.counterparty_tokens,
      ...listTokens("counterparty"),
    ]),
    chat_a_teams: await filterMapped(
      tables.chat_a_teams,
      [...workspace.chat_a_teams, ...listTeams(isOwn)],
      [...neighbors.flatMap((one) => one.chat_a_teams), ...listTeams(isNeighbor)],
    ),
    external_integrations: await filterMapped(
      tables.external_integrations,
      listTenants(workspace),
      neighbors.flatMap(listTenants),
    ),
    user_codes: await filterMapped(
      tables.user_codes,
      await listUserCodes(view, new Set(all.flatMap((user) => (isOwn(user.workspace_id) ? user.id : [])))),
    ),
    signatories: await listSignatories(view, cluster_id, isOwn),
  };
}

/** Devices that people of the workspace have approved. */
async function listUserCodes(view: View, people: ReadonlySet<number>): Promise<string[]> {
  const codes: string[] = [];
  for (const { device_code, user_id } of await view.list(deviceApprovals)) {
    const grant = people.has(user_id) ? await view.get(deviceGrants, device_code) : undefined;
    if (grant) codes.push(grant.user_code);
  }
  return codes;
}

async function listSignatories(
  view: View,
  cluster: string,
  isOwn: (workspaceId: number) => boolean,
): Promise<string[]> {
  const ownHashes = new Set<string>();
  const others = new Set<string>();
  for (const contract of await view.list(contracts)) {
    if (contract.cluster_id !== cluster) continue;
    for (const { email } of contract.signatories)
      (isOwn(contract.workspace_id) ? ownHashes : others).add(hashEmail(email));
  }
  const found: string[] = [];
  for (const hash of ownHashes) {
    if (!others.has(hash) && (await view.get(signatories, buildSignatoryKey(cluster, hash)))) found.push(hash);
  }
  return found;
}
