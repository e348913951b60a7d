import { emailHash } from "../../../src/schemes/email-hash.ts";
import { endContractEntries, schedule } from "../../clock/schedule.ts";
import { contractAccess } from "../../cluster/contracts/access.ts";
import { comments } from "../../cluster/contracts/comments.ts";
import { contracts } from "../../cluster/contracts/rows.ts";
import { counterparties } from "../../cluster/counterparties/rows.ts";
import { authorizationCodes, deviceApprovals, refreshTokens, sessions } from "../../cluster/identity/grants.ts";
import { installations } from "../../cluster/installations/rows.ts";
import { intakes } from "../../cluster/intake/rows.ts";
import { userTasks } from "../../cluster/intake/user-task-rows.ts";
import { invitations } from "../../cluster/invitations/rows.ts";
import { storedObjects } from "../../cluster/storage/objects.ts";
import { keyPointers } from "../../cluster/templates/key-pointers.ts";
import { outsiders } from "../../cluster/workspace/person-ids.ts";
import { trialWorkspaces } from "../../cluster/workspace/trial-workspace.ts";
import { mappingTables } from "../../router/mapping/tables.ts";
import type { AnyRows, Rows, Store, Transaction } from "../../store/port.ts";
import { attemptKeys, attempts, deliveries, webhookEvents } from "../../webhooks/deliveries.ts";
import { endSchedule } from "../../webhooks/record.ts";
import { subscriptions } from "../../webhooks/subscriptions.ts";
import { controlTokens } from "../../world/control-tokens.ts";
import { emails } from "../../world/emails.ts";
import * as world from "../../world/workspaces.ts";

/** What goes with a workspace: rows that name it, one of its contracts or one of its people. A test knows all fields. */
export const rowsOfWorkspace = {
  workspace_id: [
    world.users,
    world.roles,
    world.entities,
    world.contractTypes,
    world.templates,
    world.workflows,
    trialWorkspaces,
    outsiders,
    storedObjects,
    intakes,
    userTasks,
    invitations,
    installations,
    contracts,
    counterparties,
    subscriptions,
    emails,
    controlTokens,
  ],
  contract_id: [comments, contractAccess, keyPointers],
  user_id: [sessions, authorizationCodes, refreshTokens, deviceApprovals],
} as const satisfies Readonly<Record<string, readonly AnyRows[]>>;

/** The log of deliveries with what waits in the queue, which may be long: it goes after the rest, so many rows in a transaction. */
export const longRowsOfWorkspace = [deliveries, webhookEvents, schedule] as const;
const atOnce = 2_000;

/** How many of what went with it. */
export interface Removed {
  readonly workspace: world.Workspace;
  readonly contracts: number;
  readonly webhooks: number;
  readonly deliveries: number;
}

/**
 * Removes a workspace with all that is its own; bytes that nothing names then are collected as others are (DECISIONS.md,
 * E20). `check` refuses, told the workspace, if there is one, and whether it is the last of its cluster. Its key is refused
 * before the log of its deliveries has gone.
 */
export async function removeWorkspace(
  store: Store,
  id: number,
  check: (workspace: world.Workspace | undefined, isLast: boolean) => world.Workspace,
): Promise<Removed> {
  const removed = await store.transaction("emulator.remove-workspace", async (tx) => {
    const found = await tx.get(world.workspaces, id);
    const others = found && (await tx.count(world.workspaces, { by: "cluster", equals: found.cluster_id })) - 1;
    const workspace = check(found, others === 0);
    await unmap(tx, workspace);
    const ofIt = new Set([id]);
    const people = new Set((await tx.list(world.users, { by: "workspace", equals: id })).map((user) => user.id));
    const own = (await tx.list(contracts)).filter(({ workspace_id }) => workspace_id === id);
    for (const contract of own) await endContractEntries(tx, contract.id);
    const ids = { workspace_id: ofIt, contract_id: new Set(own.map((contract) => contract.id)), user_id: people };
    const webhooks = await tx.count(subscriptions, { by: "workspace", equals: id });
    for (const field of ["contract_id", "user_id", "workspace_id"] as const) {
      for (const one of rowsOfWorkspace[field]) await drop(tx, one, field, ids[field]);
    }
    tx.delete(world.workspaces, id);
    return { workspace, contracts: own.length, webhooks };
  });
  return { ...removed, deliveries: await dropLog(store, id) };
}

async function drop(tx: Transaction, from: AnyRows, field: string, values: ReadonlySet<number>): Promise<void> {
  const named = from as unknown as Rows<Readonly<Record<string, unknown>>>;
  for (const row of await tx.list(named)) {
    if (values.has(row[field] as number)) tx.delete(named, named.key(row));
  }
}

/** The routing data of its key, its people and those it has invited; an address that another one has, too, stays. */
async function unmap(tx: Transaction, { id, cluster_id, ...workspace }: world.Workspace): Promise<void> {
  const invited = await tx.list(invitations, { by: "workspace", equals: id });
  const tokensOf = (wanted: string) => invited.flatMap(({ kind, token }) => (kind === wanted ? token : []));
  const people = await tx.list(world.users, { by: "workspace", equals: id });
  const clusterOf = new Map((await tx.list(world.workspaces)).map((row) => [row.id, row.cluster_id]));
  const others = (await tx.list(world.users)).filter(
    (user) => user.workspace_id !== id && clusterOf.get(user.workspace_id) === cluster_id,
  );
  const stays = new Set(others.map(({ email }) => emailHash(email)));
  const hashes = people.map(({ email }) => emailHash(email)).filter((hash) => !stays.has(hash));
  tx.unmap(mappingTables.cluster_clients, cluster_id, [workspace.client_id]);
  tx.unmap(mappingTables.cluster_emails, cluster_id, hashes);
  tx.unmap(mappingTables.chat_a_teams, cluster_id, await teamsOf(tx, id, cluster_id));
  tx.unmap(mappingTables.creator_tokens, cluster_id, [...workspace.creator_tokens, ...tokensOf("creator")]);
  tx.unmap(mappingTables.counterparty_tokens, cluster_id, [
    ...workspace.counterparty_tokens,
    ...tokensOf("counterparty"),
  ]);
}

/** The teams of chat_a that are installed in a workspace, and in no other one of its cluster. */
async function teamsOf(tx: Transaction, workspaceId: number, clusterId: string): Promise<string[]> {
  const installed = (await tx.list(installations)).flatMap(({ app, cluster_id, workspace_id, account }) =>
    app === "chat_a" && cluster_id === clusterId && account ? [{ workspace_id, team: account.id }] : [],
  );
  const others = new Set(installed.flatMap((row) => (row.workspace_id === workspaceId ? [] : row.team)));
  return installed.flatMap((row) => (row.workspace_id === workspaceId && !others.has(row.team) ? row.team : []));
}

/** Drops events and deliveries with their attempts, and what of them waits in the queue. Says how many deliveries. */
async function dropLog(store: Store, id: number): Promise<number> {
  let count = 0;
  for (;;) {
    const [sent, told] = await store.read(async (view) => [
      (await view.list(deliveries)).flatMap((row) => (row.workspace_id === id ? row.id : [])),
      (await view.list(webhookEvents)).flatMap((row) => (row.workspace_id === id ? row.id : [])),
    ]);
    if (sent.length + told.length === 0) return count;
    await inBatches(store, sent, async (tx, key) => {
      const delivery = await tx.get(deliveries, key);
      if (!delivery) return;
      count += 1;
      endSchedule(tx, delivery);
      for (const attempt of attemptKeys(delivery)) tx.delete(attempts, attempt);
      tx.delete(deliveries, key);
    });
    await inBatches(store, told, (tx, key) => tx.delete(webhookEvents, key));
  }
}

async function inBatches(
  store: Store,
  keys: readonly number[],
  work: (tx: Transaction, key: number) => Promise<void> | void,
): Promise<void> {
  for (let from = 0; from < keys.length; from += atOnce) {
    await store.transaction("emulator.remove-workspace", async (tx) => {
      for (const key of keys.slice(from, from + atOnce)) await work(tx, key);
    });
  }
}
