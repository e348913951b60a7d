import { hashEmail } from "../../../src/base/email-address.ts";
import { type Invitation, invitations } from "../../cluster/invitations/invite.ts";
import { addWorkspace } from "../../cluster/workspace/new-workspace.ts";
import { type Workspace, workflows, workspaces } from "../../domain/workspaces.ts";
import { inTransaction } from "../../http/handler.ts";
import { reply } from "../../http/reply.ts";
import { mappingTables } from "../../router/mapping/tables.ts";
import type { View } from "../../store/port.ts";
import type { ControlHandlers } from "../context.ts";
import { readWorkspaceRouting, removeWorkspace } from "./remove-workspace.ts";

export const workspaceHandlers = {
  "emulator.workspaces": (_, { store }) => store.list(workspaces).map((row) => toWorkspaceRecord(store, row)),

  "emulator.create-workspace": inTransaction((tx, { body }, { clusters, ids, getStandardSet, fail }) => {
    const { name, template, cluster_id } = body;
    const cluster = clusters.find(({ id, external }) => (cluster_id === undefined ? !external : id === cluster_id));
    const known = clusters.map(({ id }) => id);
    if (!cluster) return fail("no-such-cluster-here", { cluster: cluster_id ?? "that is emulated", known });
    if (cluster.external) return fail("external-cluster", { cluster: cluster.id, url: cluster.url });
    const standardSet = template === "demo" ? getStandardSet() : { ...getStandardSet(), ...emptyWorkspaceSet };
    const existing = tx.list(workspaces).find((workspace) => workspace.name.toLowerCase() === name.toLowerCase());
    if (existing)
      return fail("workspace-exists", { name: existing.name, id: existing.id, cluster: existing.cluster_id });
    const email = `admin@${ids.uuid()}.example`;
    const owner = { name, email, designation: null };
    const workspaceFields = { name, industry: null, use_case: null, owner };
    const row = addWorkspace(tx, { cluster, ids, getStandardSet: () => standardSet }, workspaceFields);
    tx.map(mappingTables.cluster_clients, cluster.id, [row.client_id]);
    tx.map(mappingTables.cluster_emails, cluster.id, [hashEmail(email)]);
    return reply(201, toWorkspaceRecord(tx, row));
  }),

  "emulator.workspace-routing": ({ params: { workspace_id: id } }, { store, fail }) => {
    const workspace = store.get(workspaces, id) ?? fail("no-such-workspace", { id });
    const { cluster_id, name } = workspace;
    return { id, cluster_id, name, ...readWorkspaceRouting(store, workspace) };
  },

  "emulator.remove-workspace": async ({ params }, { store, snapshots, fail }) => {
    const id = params.workspace_id;
    const { workspace, ...counts } = await removeWorkspace(store, snapshots.collections, id, (workspaceRow, isLast) => {
      if (!workspaceRow) return fail("no-such-workspace", { id });
      if (isLast) return fail("last-workspace", { name: workspaceRow.name, cluster: workspaceRow.cluster_id });
      return workspaceRow;
    });
    return { id, cluster_id: workspace.cluster_id, name: workspace.name, ...counts };
  },
} satisfies ControlHandlers;

const emptyWorkspaceSet = { roles: [], contract_types: [], templates: [], workflows: [] };

function toWorkspaceRecord(view: View, row: Workspace) {
  const slice = { by: "workspace", equals: row.id } as const;
  const intakeWorkflows = view
    .list(workflows, slice)
    .filter(({ type, frozen_version }) => type === "INTAKE_WORKFLOW" && frozen_version !== null);
  const openInvitations = view.list(invitations, { by: "open", equals: row.id });
  const listTokens = (invitationKind: Invitation["kind"]) =>
    openInvitations.flatMap(({ kind, token }) => (kind === invitationKind ? token : []));
  const { id, cluster_id, name, client_id, client_secret, hmac_key, industry, use_case, plan, is_suspended } = row;
  return {
    ...{ id, cluster_id, name, client_id, client_secret, hmac_key, industry, use_case, plan, is_suspended },
    intake_workflows: intakeWorkflows.map(({ id, title }) => ({ id, title })),
    creator_tokens: [...row.creator_tokens, ...listTokens("creator")],
    counterparty_tokens: [...row.counterparty_tokens, ...listTokens("counterparty")],
  };
}
