import type { Fail } from "../../../src/api/failures.ts";
import { reply } from "../../http/reply.ts";
import type { View } from "../../store/port.ts";
import { type Workspace, workflows } from "../../world/workspaces.ts";
import { workspaceFile } from "../storage/files.ts";
import type { StoredObject } from "../storage/objects.ts";
import type { ClusterHandlers } from "../world.ts";
import { requireAssignees } from "./assignees.ts";
import { intakeDetail } from "./detail.ts";
import { intakeList } from "./list.ts";
import { type Intake, intakes, ownIntake } from "./rows.ts";

export const intakeHandlers = {
  // The order of the checks is that of DECISIONS.md, C7: fields, published, INTAKE_WORKFLOW, files.
  "intake.create": ({ body }, { store, clock, ids, caller, fail, finding }) =>
    store.transaction("intake.create", async (tx) => {
      const { workspace } = caller;
      const assignees = await requireAssignees(tx, workspace, body.assignees, fail);
      const workflow = await tx.get(workflows, body.workflow_id);
      // An unknown workflow is told like an unpublished one, so that nobody learns of other workspaces' rows.
      if (!workflow?.frozen_version || workflow.workspace_id !== workspace.id) return fail("unpublished-workflow");
      if (workflow.type !== "INTAKE_WORKFLOW") return fail("not-an-intake-workflow");
      const files = await requireFiles(tx, workspace, body.file_ids ?? [], fail);
      for (const file of files) if (!file.blob) finding("file-not-uploaded", `no bytes came for ${file.key}`);

      const now = clock.now();
      const row: Intake = {
        id: tx.next("intake"),
        workspace_id: workspace.id,
        public_id: ids.uuid(),
        title: body.title,
        description: body.description ?? null,
        status: "PENDING",
        priority: body.priority ?? "MEDIUM",
        due_at: body.due_date == null ? null : Date.parse(body.due_date),
        metadata: body.metadata ?? {},
        workflow_id: workflow.id,
        frozen_workflow_id: workflow.frozen_version.id,
        file_ids: files.map((file) => file.key),
        assignees,
        created_by: caller.user.id,
        created_at: now,
        modified_at: now,
        deleted_at: null,
      };
      tx.put(intakes, row);
      return intakeDetail(tx, row, now);
    }),

  "intake.list": ({ query }, { store, caller, fail }) =>
    store.read((view) => intakeList(view, caller.workspace, query, fail)),

  "intake.show": ({ params }, { store, clock, caller, fail }) =>
    store.read(async (view) =>
      intakeDetail(view, await requireIntake(view, caller.workspace, params.intake_id, fail), clock.now()),
    ),

  "intake.update": ({ params, body }, { store, clock, caller, fail }) =>
    store.transaction("intake.update", async (tx) => {
      const row = await requireIntake(tx, caller.workspace, params.intake_id, fail);
      const changed: Intake = {
        ...row,
        ...(body.title !== undefined && { title: body.title }),
        ...(body.description !== undefined && { description: body.description }),
        ...(body.status !== undefined && { status: body.status }),
        ...(body.priority !== undefined && { priority: body.priority }),
        ...(body.due_date !== undefined && { due_at: body.due_date === null ? null : Date.parse(body.due_date) }),
        ...(body.metadata !== undefined && { metadata: body.metadata ?? {} }),
        ...(body.assignees !== undefined && {
          assignees: await requireAssignees(tx, caller.workspace, body.assignees, fail),
        }),
        modified_at: clock.now(),
      };
      tx.put(intakes, changed);
      return intakeDetail(tx, changed, changed.modified_at);
    }),

  "intake.delete": ({ params }, { store, clock, caller, fail }) =>
    store.transaction("intake.delete", async (tx) => {
      const row = await requireIntake(tx, caller.workspace, params.intake_id, fail);
      tx.put(intakes, { ...row, deleted_at: clock.now() });
      return reply(204, undefined);
    }),
} satisfies ClusterHandlers;

/** The intake of an id; an unknown, deleted or foreign one is 403, not 404 (DECISIONS.md, F3). */
async function requireIntake(
  view: View,
  workspace: Workspace,
  id: number,
  fail: Fail<"permission-denied">,
): Promise<Intake> {
  return (await ownIntake(view, workspace, id)) ?? fail("permission-denied");
}

async function requireFiles(
  view: View,
  workspace: Workspace,
  fileIds: readonly string[],
  fail: Fail<"unknown-file-ids">,
): Promise<StoredObject[]> {
  const files = new Map<string, StoredObject>();
  for (const id of fileIds) {
    const file = (await workspaceFile(view, workspace, id)) ?? fail("unknown-file-ids");
    files.set(file.key, file);
  }
  return [...files.values()];
}
