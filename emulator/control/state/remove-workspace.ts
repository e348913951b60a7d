import type * as z from "zod";
import { hashEmail } from "../../../src/base/email-address.ts";
import { endContractEntries, schedule } from "../../clock/schedule.ts";
import { contracts } from "../../cluster/contracts/rows.ts";
import { deviceApprovals } from "../../cluster/identity/grants.ts";
import { appInstallations } from "../../cluster/installations.ts";
import { invitations } from "../../cluster/invitations/invite.ts";
import { users, type Workspace, workspaces } from "../../domain/workspaces.ts";
import { deviceGrants, removeGrants } from "../../router/device/rows.ts";
import { buildIntegrationKey, buildSignatoryKey, mappingTables, signatories } from "../../router/mapping/tables.ts";
import type { AnyRows, Collection, Rows, Store, Transaction, View } from "../../store/port.ts";
import { attempts, deliveries, listAttemptKeys, webhookEvents } from "../../webhooks/deliveries.ts";
import { endSchedule } from "../../webhooks/record.ts";
import { webhookRows } from "../../webhooks/webhooks.ts";

/** Fields that name the workspace of a row, or else one of its contracts or of its people. */
const ownerFields = ["workspace_id", "contract_id", "user_id"] as const;

/** Returns the collections whose rows belong to workspaces, each with the field that decides to which. */
export const listOwnedCollections = (collections: readonly Collection[]) =>
  collections.flatMap((collection) => {
    if (collection.kind === "mapping") return [];
    const { shape } = collection.schema as z.ZodObject;
    const field = ownerFields.find((name) => name in shape);
    return field ? [{ collection, field }] : [];
  });

/** The log of deliveries with its pending entries can be long. It is removed last, in several transactions. */
const largeCollections: readonly AnyRows[] = [deliveries, webhookEvents, schedule];
const maxBatchRows = 2_000;

/**
 * Removes a workspace with all its rows. Unreferenced bytes are collected later (DECISIONS.md, E20). `check` can
 * reject. It gets the workspace, if it exists, and whether it is the last workspace of its cluster. The workspace's key
 * becomes invalid before the log of its deliveries is removed.
 */
export async function removeWorkspace(
  store: Store,
  collections: readonly Collection[],
  id: number,
  check: (workspace: Workspace | undefined, isLast: boolean) => Workspace,
) {
  const result = await store.transaction("emulator.remove-workspace", (tx) => {
    const candidate = tx.get(workspaces, id);
    const otherCount = candidate && tx.count(workspaces, { by: "cluster", equals: candidate.cluster_id }) - 1;
    const workspace = check(candidate, otherCount === 0);
    removeRoutingData(tx, workspace);
    const people = tx.list(users, { by: "workspace", equals: id });
    const workspaceContracts = tx.list(contracts).filter(({ workspace_id }) => workspace_id === id);
    for (const contract of workspaceContracts) endContractEntries(tx, contract.id);
    const ids = {
      workspace_id: new Set([id]),
      contract_id: new Set(workspaceContracts.map((contract) => contract.id)),
      user_id: new Set(people.map((user) => user.id)),
    };
    const webhooks = tx.count(webhookRows, { by: "workspace", equals: id });
    for (const { collection, field } of listOwnedCollections(collections)) {
      if (!largeCollections.includes(collection)) removeRows(tx, collection, field, ids[field]);
    }
    tx.delete(workspaces, id);
    return { workspace, contracts: workspaceContracts.length, webhooks };
  });
  return { ...result, deliveries: await removeDeliveryLog(store, id) };
}

function removeRows(tx: Transaction, collection: AnyRows, field: string, values: ReadonlySet<number>): void {
  const typedCollection = collection as unknown as Rows<Readonly<Record<string, unknown>>>;
  for (const row of tx.list(typedCollection)) {
    if (values.has(row[field] as number)) tx.delete(typedCollection, typedCollection.key(row));
  }
}

function removeRoutingData(tx: Transaction, workspace: Workspace): void {
  const { cluster_id } = workspace;
  const { signatories: hashes, ...routing } = readWorkspaceRouting(tx, workspace);
  for (const [table, keys] of Object.entries(routing)) {
    tx.unmap(mappingTables[table as keyof typeof mappingTables], cluster_id, keys);
  }
  removeGrants(tx, cluster_id, routing.user_codes);
  for (const hash of hashes) tx.delete(signatories, buildSignatoryKey(cluster_id, hash));
}

/** Removes deliveries with their attempts and pending entries, then events. Returns the number of deliveries. */
async function removeDeliveryLog(store: Store, id: number): Promise<number> {
  const isOwn = ({ workspace_id }: { readonly workspace_id: number }) => workspace_id === id;
  const removeBatch = (tx: Transaction) => {
    const deliveryBatch = tx.list(deliveries).filter(isOwn).slice(0, maxBatchRows);
    for (const delivery of deliveryBatch) {
      endSchedule(tx, delivery);
      for (const attempt of listAttemptKeys(delivery)) tx.delete(attempts, attempt);
      tx.delete(deliveries, delivery.id);
    }
    const eventBatch = deliveryBatch.length > 0 ? [] : tx.list(webhookEvents).filter(isOwn).slice(0, maxBatchRows);
    for (const event of eventBatch) tx.delete(webhookEvents, event.id);
    return { removed: deliveryBatch.length, isDone: deliveryBatch.length + eventBatch.length === 0 };
  };
  let count = 0;
  for (;;) {
    const { removed, isDone } = await store.transaction("emulator.remove-workspace", removeBatch);
    count += removed;
    if (isDone) return count;
  }
}

export type WorkspaceRouting = Readonly<Record<keyof typeof mappingTables | "signatories", string[]>>;

/**
 * Returns the identifiers that map a workspace to its cluster. They come from its key, people, invitations, apps and
 * devices, and from the signatories of its contracts. Identifiers that another workspace of the cluster also has are
 * excluded.
 */
export function readWorkspaceRouting(view: View, workspace: Workspace): WorkspaceRouting {
  const { id, cluster_id } = workspace;
  const neighbors = view.list(workspaces, { by: "cluster", equals: cluster_id }).filter((one) => one.id !== id);
  const otherIdentifiers = neighbors.map((neighbor) => listIdentifiers(view, neighbor));
  const isMapped = (table: keyof WorkspaceRouting, key: string) =>
    table === "signatories"
      ? view.get(signatories, buildSignatoryKey(cluster_id, key)) !== undefined
      : view.lookup(mappingTables[table], key) === cluster_id;
  const tables = Object.entries(listIdentifiers(view, workspace)).map(([name, identifiers]) => {
    const table = name as keyof WorkspaceRouting;
    const foreign = new Set(otherIdentifiers.flatMap((identifiers) => identifiers[table]));
    return [table, [...new Set(identifiers)].filter((key) => !foreign.has(key) && isMapped(table, key))];
  });
  return Object.fromEntries(tables);
}

function listIdentifiers(view: View, workspace: Workspace): WorkspaceRouting {
  const isOwn = ({ workspace_id }: { readonly workspace_id: number }) => workspace_id === workspace.id;
  const slice = { by: "workspace", equals: workspace.id } as const;
  const people = view.list(users, slice);
  const peopleIds = new Set(people.map((person) => person.id));
  const approvals = view.list(deviceApprovals).filter(({ user_id }) => peopleIds.has(user_id));
  const workspaceInvitations = view.list(invitations, slice);
  const listTokens = (invitationKind: string) =>
    workspaceInvitations.flatMap(({ kind, token }) => (kind === invitationKind ? token : []));
  const teams = view.list(appInstallations).filter((row) => isOwn(row) && row.app === "chat_a");
  return {
    cluster_emails: people.map(({ email }) => hashEmail(email)),
    cluster_clients: [workspace.client_id],
    creator_tokens: [...workspace.creator_tokens, ...listTokens("creator")],
    counterparty_tokens: [...workspace.counterparty_tokens, ...listTokens("counterparty")],
    chat_a_teams: [...workspace.chat_a_teams, ...teams.flatMap(({ account }) => account?.id ?? [])],
    external_integrations: workspace.chat_b_tenants.map((tenant) => buildIntegrationKey(tenant)),
    user_codes: approvals.flatMap(({ device_code }) => view.get(deviceGrants, device_code)?.user_code ?? []),
    signatories: view
      .list(contracts)
      .filter(isOwn)
      .flatMap((contract) => contract.signatories.map(({ email }) => hashEmail(email))),
  };
}
