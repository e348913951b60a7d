import type { listInvitations } from "../../src/api/emulator/invitations.ts";
import type { InputOf } from "../../src/api/operation.ts";
import { toIsoMillis } from "../../src/base/clock.ts";
import { toAddressKey } from "../../src/base/email-address.ts";
import { readRecipientLinks } from "../cluster/contracts/links.ts";
import { contracts, formatCompositeId } from "../cluster/contracts/rows.ts";
import { toTaskRecord, userTasks } from "../cluster/intake/user-tasks.ts";
import {
  type AnyInvitation,
  acceptInvitation,
  invitations,
  listSeededInvitations,
  pickSharedFields,
} from "../cluster/invitations/invite.ts";
import { toOrgUser } from "../cluster/workspace/users.ts";
import { workspaces } from "../domain/workspaces.ts";
import { inTransaction } from "../http/handler.ts";
import { trialSignups } from "../router/trial/signups.ts";
import type { IndexQuery, View } from "../store/port.ts";
import { matchesFilter } from "../store/rows.ts";
import { type ControlContext, type ControlHandlers, createListHandler } from "./context.ts";

export const invitationHandlers = {
  "invitations.list": ({ query }, context) => {
    const { store } = context;
    const { rows, total } = listMatching(store, query);
    return { items: rows.map((row) => toInvitationRecord(store, row, context)), total };
  },

  "invitations.accept": inTransaction((tx, { params: { token } }, context) => {
    const { clock, fail } = context;
    const invitation = tx.get(invitations, token);
    if (!invitation) {
      const [workspace] = tx.list(workspaces, { by: "invite", equals: token });
      return workspace
        ? fail("invitation-without-recipient", { workspace: workspace.name })
        : fail("no-such-invitation");
    }
    const { email, contract_id, state } = invitation;
    if (contract_id !== null) {
      const row = tx.get(contracts, contract_id);
      return fail("invitation-to-contract", { email, contract: row ? formatCompositeId(row) : `${contract_id}` });
    }
    if (state !== "PENDING") return fail("invitation-already-accepted", { email });
    acceptInvitation(tx, invitation, clock.now());
    return toInvitationRecord(tx, { ...invitation, state: "ACCEPTED" }, context);
  }),

  "trials.list": createListHandler(trialSignups, ({ claimed: _, workspace, ...signup }) => ({
    ...signup,
    cluster_id: workspace?.cluster_id ?? null,
    workspace_id: workspace?.workspace_id ?? null,
  })),

  "user-tasks.list": createListHandler(userTasks, (row, view, { clock }) => ({
    ...toTaskRecord(row, clock.now()),
    workspace_id: row.workspace_id,
    task_category: row.task_category,
    assignees: row.assignees.map(({ user_id, assignee_type }) => ({
      email: toOrgUser(view, user_id).email,
      assignee_type,
    })),
    intake_ids: row.intake_ids,
    created_at: toIsoMillis(row.created_at),
  })),
} satisfies ControlHandlers;

type InvitationQuery = InputOf<typeof listInvitations>["query"];

/** Returns issued invitations, newest first, and then the invitations of seeds. */
function listMatching(view: View, { cluster, workspace, email, kind, state, limit, offset }: InvitationQuery) {
  const emailKey = email && toAddressKey(email);
  const slice: IndexQuery<"email" | "workspace"> =
    emailKey !== undefined
      ? { by: "email", equals: emailKey }
      : workspace !== undefined
        ? { by: "workspace", equals: workspace }
        : {};
  const issuedInvitations: readonly AnyInvitation[] = view.list(invitations, { ...slice, reverse: true });
  const seedInvitations = view.list(workspaces).flatMap(listSeededInvitations);
  const matches = [...issuedInvitations, ...seedInvitations].filter(
    (row) =>
      matchesFilter(row, { cluster_id: cluster, workspace_id: workspace, kind, state }) &&
      (emailKey === undefined || (row.email !== null && toAddressKey(row.email) === emailKey)),
  );
  return { rows: matches.slice(offset, offset + limit), total: matches.length };
}

function toInvitationRecord(view: View, row: AnyInvitation, context: Pick<ControlContext, "settings" | "clusters">) {
  const { workspace_id, contract_id, issued_at } = row;
  return {
    ...pickSharedFields(row),
    workspace_id,
    contract_id,
    link: buildLink(view, row, context),
    issued_at: issued_at === null ? null : toIsoMillis(issued_at),
  };
}

function buildLink(
  view: View,
  row: AnyInvitation,
  { settings, clusters }: Pick<ControlContext, "settings" | "clusters">,
) {
  const contract = row.contract_id === null ? undefined : view.get(contracts, row.contract_id);
  if (contract?.deleted_at === null && row.email !== null) {
    const { url } = clusters.find(({ id }) => id === row.cluster_id)!;
    return `${url}${readRecipientLinks(view, contract).buildPath(row.email)}`;
  }
  return `${settings.publicUrl}/auth/v3/invite_info/?${new URLSearchParams({ token: row.token })}`;
}
