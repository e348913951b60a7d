import { endContractEntries, schedule } from "../../clock/schedule.ts";
import { contractAccess } from "../../cluster/contracts/access.ts";
import { comments } from "../../cluster/contracts/comments.ts";
import { contracts } from "../../cluster/contracts/rows.ts";
import { counterparties } from "../../cluster/counterparties/rows.ts";
import { authorizationCodes, deviceApprovals, refreshTokens, sessions } from "../../cluster/identity/grants.ts";
import { installations } from "../../cluster/installations.ts";
import { intakes, userTasks } from "../../cluster/intake/rows.ts";
import { invitations } from "../../cluster/invitations/invite.ts";
import { storedObjects } from "../../cluster/storage/objects.ts";
import { keyPointers } from "../../cluster/templates/key-pointers.ts";
import { trialWorkspaces } from "../../cluster/workspace/trial-workspace.ts";
import { outsiders } from "../../cluster/workspace/users.ts";
import { controlTokens } from "../../domain/control-tokens.ts";
import { emails } from "../../domain/emails.ts";
import * as rows from "../../domain/workspaces.ts";
import { removeGrants } from "../../router/device/rows.ts";
import { buildSignatoryKey, signatories } from "../../router/mapping/signatories.ts";
import { mappingTables } from "../../router/mapping/tables.ts";
import type { AnyRows, Rows, Store, Transaction } from "../../store/port.ts";
import { attempts, deliveries, listAttemptKeys, webhookEvents } from "../../webhooks/deliveries.ts";
import { endSchedule } from "../../webhooks/record.ts";
import { webhookRows } from "../../webhooks/webhooks.ts";
import { readWorkspaceRouting } from "./workspace-routing.ts";

/**
 * Collections whose rows are removed with a workspace: they name it, one of its contracts or one of its people. A test
 * checks that all are listed.
 */
export const rowsOfWorkspace = {
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
    installations,
    contracts,
    counterparties,
    webhookRows,
    emails,
    controlTokens,
  ],
  contract_id: [comments, contractAccess, keyPointers],
  user_id: [sessions, authorizationCodes, refreshTokens, deviceApprovals],
} as const satisfies Readonly<Record<string, readonly AnyRows[]>>;

/**
 * The log of deliveries with its pending entries may be long. It is removed after the rest, in transactions of this
 * many rows.
 */
export const longRowsOfWorkspace = [deliveries, webhookEvents, schedule] as const;
const maxBatchRows = 2_000;

/** Numbers of removed rows. */
export interface WorkspaceRemovalResult {
  readonly workspace: rows.Workspace;
  readonly contracts: number;
  readonly webhooks: number;
  readonly deliveries: number;
}

/**
 * Removes a workspace with all its rows. Unreferenced bytes are collected like others (DECISIONS.md, E20). `check` may
 * reject; it gets the workspace, if it exists, and whether it is the last one of its cluster. Its key is invalid before
 * the log of its deliveries is removed.
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
    await unmap(tx, workspace);
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
      for (const one of rowsOfWorkspace[field]) await drop(tx, one, field, ids[field]);
    }
    tx.delete(rows.workspaces, id);
    return { workspace, contracts: workspaceContracts.length, webhooks };
  });
  return { ...removed, deliveries: await dropLog(store, id) };
}

async function drop(tx: Transaction, from: AnyRows, field: string, values: ReadonlySet<number>): Promise<void> {
  const named = from as unknown as Rows<Readonly<Record<string, unknown>>>;
  for (const row of await tx.list(named)) {
    if (values.has(row[field] as number)) tx.delete(named, named.key(row));
  }
}

/** Its routing data, without entries that another workspace also uses. */
async function unmap(tx: Transaction, workspace: rows.Workspace): Promise<void> {
  const { cluster_id } = workspace;
  const { signatories: hashes, ...routing } = await readWorkspaceRouting(tx, workspace);
  for (const [table, keys] of Object.entries(routing)) {
    tx.unmap(mappingTables[table as keyof typeof mappingTables], cluster_id, keys);
  }
  await removeGrants(tx, cluster_id, routing.user_codes);
  for (const hash of hashes) tx.delete(signatories, buildSignatoryKey(cluster_id, hash));
}

/** Removes events and deliveries with their attempts and pending entries. Returns the number of deliveries. */
async function dropLog(store: Store, id: number): Promise<number> {
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
