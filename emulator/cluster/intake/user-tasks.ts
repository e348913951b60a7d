import { reply } from "../../http/reply.ts";
import type { View } from "../../store/port.ts";
import type { Workspace } from "../../world/workspaces.ts";
import { Problems } from "../field-problems.ts";
import { noSuchRow } from "../workspace/people.ts";
import type { ClusterHandlers } from "../world.ts";
import { requireAssignees } from "./assignees.ts";
import { ownIntake } from "./rows.ts";
import { taskRecord, type UserTask, userTasks } from "./user-task-rows.ts";

export const userTaskHandlers = {
  "user-tasks.create": ({ body }, { store, clock, caller, fail }) =>
    store.transaction("user-tasks.create", async (tx) => {
      const { workspace, user } = caller;
      const assignees = await requireAssignees(tx, workspace, body.assignees, fail);
      const intake_ids = (body.task_associations ?? []).map(({ entity_id }) => entity_id);
      const problems = await unknownIntakes(tx, workspace, intake_ids);
      if (problems) return fail("invalid-fields", problems);
      const now = clock.now();
      const row: UserTask = {
        id: tx.next("user_task"),
        workspace_id: workspace.id,
        title: body.title,
        notes: body.notes ?? null,
        due_at: body.absolute_due_date == null ? null : Date.parse(body.absolute_due_date),
        priority: body.priority ?? "MEDIUM",
        task_category: body.task_category,
        intake_ids: [...new Set(intake_ids)],
        assignees,
        created_by: user.id,
        created_at: now,
      };
      tx.put(userTasks, row);
      return reply(201, taskRecord(row, now));
    }),
} satisfies ClusterHandlers;

async function unknownIntakes(view: View, workspace: Workspace, ids: readonly number[]) {
  const problems = new Problems();
  for (const [index, id] of ids.entries()) {
    const known = await ownIntake(view, workspace, id);
    if (!known) problems.add(["task_associations", index, "entity_id"], noSuchRow(id));
  }
  return problems.found;
}
