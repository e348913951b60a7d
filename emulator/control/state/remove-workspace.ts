import { hashEmail } from "../../../src/schemes/email-hash.ts";
import { endContractEntries, schedule } from "../../clock/schedule.ts";
import { contractAccess } from "../../cluster/contracts/access.ts";
import { comments } from "../../cluster/contracts/comments.ts";
import { contracts } from "../../cluster/contracts/rows.ts";
import { counterparties } from "../../cluster/counterparties/rows.ts";
import { authorizationCodes, deviceApprovals, refreshTokens, signInSessions } from "../../cluster/identity/grants.ts";
import { appInstallations } from "../../cluster/installations.ts";
import { intakes, userTasks } from "../../cluster/intake/rows.ts";
import { invitations } from "../../cluster/invitations/invite.ts";
import { storedObjects } from "../../cluster/storage/objects.ts";
import { keyPointers } from "../../cluster/templates/key-pointers.ts";
import { trialWorkspaces } from "../../cluster/workspace/trial-workspace.ts";
import { outsiders } from "../../cluster/workspace/users.ts";
import { controlTokens } from "../../domain/control-tokens.ts";
import { emails } from "../../domain/emails.ts";
import * as rows from "../../domain/workspaces.ts";
import { users, type Workspace, workspaces } from "../../domain/workspaces.ts";
import { deviceGrants, removeGrants } from "../../router/device/rows.ts";
import { buildSignatoryKey, signatories } from "../../router/mapping/signatories.ts";
import { mappingTables } from "../../router/mapping/tables.ts";
import type { AnyRows, Mapping, Rows, Store, Transaction, View } from "../../store/port.ts";
import { attempts, deliveries, listAttemptKeys, webhookEvents } from "../../webhooks/deliveries.ts";
import { endSchedule } from "../../webhooks/record.ts";

import { webhookRows } from "../../webhooks/webhooks.ts";

/**
 * Collections whose rows are removed with a workspace. The rows name the workspace, one of its contracts or one of its
 * people. A test checks that the list is complete.
 */
export const workspaceCollections = {
  workspace_id: [
    rows.users,
    rows.roles,
    rows.entities,
    rows.contractTypes,
    rows.templates,
    rows.workflows,
    trialWorkspaces,
    outsiders,
    storedObjects,
    intakes,
    userTasks,
    invitations,
    appInstallations,
    contracts,
    counterparties,
    webhookRows,
    emails,
    controlTokens,
  ],
  contract_id: [comments, contractAccess, keyPointers],
  user_id: [signInSessions, authorizationCodes, refreshTokens, deviceApprovals],
} as const satisfies Readonly<Record<string, readonly AnyRows[]>>;

/** The log of deliveries with its pending entries can be long. It is removed last, in several transactions. */
export const largeWorkspaceCollections = [deliveries, webhookEvents, schedule] as const;
const maxBatchRows = 2_000;

export interface WorkspaceRemovalResult {
  readonly workspace: rows.Workspace;
  readonly contracts: number;
  readonly webhooks: number;
  readonly deliveries: number;
}

/**
 * Removes a workspace with all its rows. Unreferenced bytes are collected later (DECISIONS.md, E20). `check` can
 * reject. It gets the workspace, if it exists, and whether it is the last one of its cluster. The workspace's key
 * becomes invalid before the log of its deliveries is removed.
 */
export async function removeWorkspace(
  store: Store,
  id: number,
  check: (workspace: rows.Workspace | undefined, isLast: boolean) => rows.Workspace,
): Promise<WorkspaceRemovalResult> {
  const removed = await store.transaction("emulator.remove-workspace", async (tx) => {
    const found = await tx.get(rows.workspaces, id);
    const others = found && (await tx.count(rows.workspaces, { by: "cluster", equals: found.cluster_id })) - 1;
    const workspace = check(found, others === 0);
    await removeRoutingData(tx, workspace);
    const workspaceIds = new Set([id]);
    const people = new Set((await tx.list(rows.users, { by: "workspace", equals: id })).map((user) => user.id));
    const workspaceContracts = (await tx.list(contracts)).filter(({ workspace_id }) => workspace_id === id);
    for (const contract of workspaceContracts) await endContractEntries(tx, contract.id);
    const ids = {
      workspace_id: workspaceIds,
      contract_id: new Set(workspaceContracts.map((contract) => contract.id)),
      user_id: people,
    };
    const webhooks = await tx.count(webhookRows, { by: "workspace", equals: id });
    for (const field of ["contract_id", "user_id", "workspace_id"] as const) {
      for (const one of workspaceCollections[field]) await removeRows(tx, one, field, ids[field]);
    }
    tx.delete(rows.workspaces, id);
    return { workspace, contracts: workspaceContracts.length, webhooks };
  });
  return { ...removed, deliveries: await removeDeliveryLog(store, id) };
}

async function removeRows(tx: Transaction, from: AnyRows, field: string, values: ReadonlySet<number>): Promise<void> {
  const named = from as unknown as Rows<Readonly<Record<string, unknown>>>;
  for (const row of await tx.list(named)) {
    if (values.has(row[field] as number)) tx.delete(named, named.key(row));
  }
}

async function removeRoutingData(tx: Transaction, workspace: rows.Workspace): Promise<void> {
  const { cluster_id } = workspace;
  const { signatories: hashes, ...routing } = await readWorkspaceRouting(tx, workspace);
  for (const [table, keys] of Object.entries(routing)) {
    tx.unmap(mappingTables[table as keyof typeof mappingTables], cluster_id, keys);
  }
  await removeGrants(tx, cluster_id, routing.user_codes);
  for (const hash of hashes) tx.delete(signatories, buildSignatoryKey(cluster_id, hash));
}

/** Removes events and deliveries with their attempts and pending entries. Returns the number of deliveries. */
async function removeDeliveryLog(store: Store, id: number): Promise<number> {
  let count = 0;
  for (;;) {
    const [sent, attempted] = await store.read(async (view) => [
      (await view.list(deliveries)).flatMap((row) => (row.workspace_id === id ? row.id : [])),
      (await view.list(webhookEvents)).flatMap((row) => (row.workspace_id === id ? row.id : [])),
    ]);
    if (sent.length + attempted.length === 0) return count;
    await removeInBatches(store, sent, async (tx, key) => {
      const delivery = await tx.get(deliveries, key);
      if (!delivery) return;
      count += 1;
      endSchedule(tx, delivery);
      for (const attempt of listAttemptKeys(delivery)) tx.delete(attempts, attempt);
      tx.delete(deliveries, key);
    });
    await removeInBatches(store, attempted, (tx, key) => tx.delete(webhookEvents, key));
  }
}

async function removeInBatches(
  store: Store,
  keys: readonly number[],
  work: (tx: Transaction, key: number) => Promise<void> | void,
): Promise<void> {
  for (let from = 0; from < keys.length; from += maxBatchRows) {
    await store.transaction("emulator.remove-workspace", async (tx) => {
      for (const key of keys.slice(from, from + maxBatchRows)) await work(tx, key);
    });
  }
}
export type WorkspaceRouting = Readonly<Record<keyof typeof mappingTables | "signatories", string[]>>;

/**
 * Returns the identifiers that map a workspace to its cluster. They come from its key, people, invitations, apps and
 * devices, and the signatories of its contracts. Identifiers that another workspace of the cluster also has are
 * excluded.
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
  const teams = (await view.list(appInstallations)).flatMap(({ app, cluster_id: cluster, workspace_id, account }) =>
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
    cluster_emails: await filterMapped(mappingTables.cluster_emails, listHashes(isOwn), listHashes(isNeighbor)),
    cluster_clients: await filterMapped(mappingTables.cluster_clients, [workspace.client_id]),
    creator_tokens: await filterMapped(mappingTables.creator_tokens, [
      ...workspace.creator_tokens,
      ...listTokens("creator"),
    ]),
    counterparty_tokens: await filterMapped(mappingTables.counterparty_tokens, [
      ...workspace.counterparty_tokens,
      ...listTokens("counterparty"),
    ]),
    chat_a_teams: await filterMapped(
      mappingTables.chat_a_teams,
      [...workspace.chat_a_teams, ...listTeams(isOwn)],
      [...neighbors.flatMap((one) => one.chat_a_teams), ...listTeams(isNeighbor)],
    ),
    external_integrations: await filterMapped(
      mappingTables.external_integrations,
      listTenants(workspace),
      neighbors.flatMap(listTenants),
    ),
    user_codes: await filterMapped(
      mappingTables.user_codes,
      await listUserCodes(view, new Set(all.flatMap((user) => (isOwn(user.workspace_id) ? user.id : [])))),
    ),
    signatories: await listSignatories(view, cluster_id, isOwn),
  };
}

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
