import { toIsoMillis } from "../../../src/base/clock.ts";
import { listAccess } from "../../cluster/contracts/access.ts";
import { isContractEditable, replaceEntity } from "../../cluster/contracts/parties.ts";
import { type Contract, type ContractReview, contracts } from "../../cluster/contracts/rows.ts";
import { listParticipants } from "../../cluster/recipient-pages/pending-actions.ts";
import { entities, roles, users } from "../../domain/workspaces.ts";
import { inTransaction, inView } from "../../http/handler.ts";
import type { View } from "../../store/port.ts";
import { type ControlHandlers, createListHandler } from "../context.ts";
import { requireContractById, resolvePerformer, toContractSummary } from "./contracts.ts";

export const contractDetailHandlers = {
  "emulator-contracts.list": createListHandler(contracts, (row) => ({
    ...toContractSummary(row),
    cluster_id: row.cluster_id,
    workspace_id: row.workspace_id,
    created_at: toIsoMillis(row.created_at),
    updated_at: toIsoMillis(row.updated_at),
    deleted_at: row.deleted_at === null ? null : toIsoMillis(row.deleted_at),
  })),

  "emulator-contracts.show": inView(async (view, { params }, { clusters, fail }) => {
    const row = await requireContractById(view, params.id, fail);
    const entity = row.entity_id === null ? undefined : await view.get(entities, row.entity_id);
    const { url } = clusters.find(({ id }) => id === row.cluster_id)!;
    const people = await listParticipants(view, row);
    return {
      ...toContractSummary(row),
      entity: entity ? { reference_id: entity.reference_id, name: entity.name } : null,
      counterparties: row.counterparties.map(({ poc: _, ...party }) => party),
      reviews: await Promise.all(row.reviews.map((review) => toReviewRecord(view, review))),
      access: await listAccessRecords(view, row),
      people: people.map(({ name, email, path, turn, signedAt }) => ({
        name,
        email,
        link: `${url}${path}`,
        turn: [...turn],
        signed_at: signedAt === null ? null : toIsoMillis(signedAt),
      })),
    };
  }),

  "emulator-contracts.entity": inTransaction(async (tx, { params, body: { reference_id, email } }, { clock, fail }) => {
    const row = await requireContractById(tx, params.id, fail);
    const workspaceEntities = await tx.list(entities, { by: "workspace", equals: row.workspace_id });
    const knownIds = workspaceEntities.map((each) => each.reference_id).join(", ");
    const entity = workspaceEntities.find((each) => each.reference_id === reference_id);
    if (!entity) return fail("no-such-entity", { reference_id, known: knownIds });
    if (!isContractEditable(row)) return fail("entity-not-editable", { status: row.status });
    const performer = await resolvePerformer(tx, row, email);
    return toContractSummary(await replaceEntity(tx, { clock, performer }, row, entity));
  }),
} satisfies ControlHandlers;

async function toReviewRecord(view: View, review: ContractReview) {
  const { by, reviewer_user_id, reviewer_role_id, description, requested_at, completed_at } = review;
  return {
    by,
    ...(await findNames(view, reviewer_user_id, reviewer_role_id)),
    description,
    requested_at: toIsoMillis(requested_at),
    completed_at: completed_at === null ? null : toIsoMillis(completed_at),
  };
}

const listAccessRecords = async (view: View, row: Contract) =>
  Promise.all(
    (await listAccess(view, row)).map(async ({ user_id, role_id, permission_name, note, invited_at }) => ({
      ...(await findNames(view, user_id, role_id)),
      permission_name,
      note,
      invited_at: toIsoMillis(invited_at),
    })),
  );

async function findNames(view: View, userId: number | null, roleId: number | null) {
  const user = userId === null ? undefined : await view.get(users, userId);
  const role = roleId === null ? undefined : await view.get(roles, roleId);
  return {
    user: user ? { id: user.id, name: user.name, email: user.email } : null,
    role: role ? { id: role.id, name: role.name } : null,
  };
}
