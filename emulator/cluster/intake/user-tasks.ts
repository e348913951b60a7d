import * as z from "zod";
import type { Task } from "../../../src/api/contracts/intake.ts";
import { taskCategories } from "../../../src/api/contracts/user-tasks.ts";
import { isoSeconds } from "../../../src/base/clock.ts";
import { reply } from "../../http/reply.ts";
import { rows, type View } from "../../store/port.ts";
import { storedDeadline, storedTime } from "../../store/stored-time.ts";
import type { Workspace } from "../../world/workspaces.ts";
import type { ClusterHandlers } from "../context.ts";
import { Problems } from "../response.ts";
import { rowNotFoundMessage } from "../workspace/users.ts";
import { findIntake, IntakeAssignee, requireAssignees } from "./rows.ts";

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
      return reply(201, toTaskRecord(row, now));
    }),
} satisfies ClusterHandlers;

async function unknownIntakes(view: View, workspace: Workspace, ids: readonly number[]) {
  const problems = new Problems();
  for (const [index, id] of ids.entries()) {
    const known = await findIntake(view, workspace, id);
    if (!known) problems.add(["task_associations", index, "entity_id"], rowNotFoundMessage(id));
  }
  return problems.found;
}

/** What users were given to do (DECISIONS.md, C27). */
const UserTask = z.strictObject({
  id: z.int(),
  workspace_id: z.int(),
  title: z.string(),
  notes: z.string().nullable(),
  /** Virtual milliseconds. */
  due_at: storedDeadline(z.number()).nullable(),
  priority: z.enum(["LOW", "MEDIUM", "HIGH"]),
  task_category: z.enum(taskCategories),
  /** What it is about. */
  intake_ids: z.array(z.int()),
  assignees: z.array(IntakeAssignee),
  created_by: z.int(),
  created_at: storedTime(z.number()),
});
type UserTask = z.infer<typeof UserTask>;

export const userTasks = rows<UserTask, "intake">({
  name: "user_tasks",
  schema: UserTask,
  key: (row) => row.id,
  numbers: { user_task: (row) => row.id },
  indexes: { intake: (row) => row.intake_ids },
});

/** A task as intakes show it; no public route completes one. */
export function toTaskRecord(row: UserTask, now: number): z.infer<typeof Task> {
  const due = row.due_at === null ? null : isoSeconds(row.due_at);
  return {
    id: row.id,
    title: row.title,
    notes: row.notes,
    absolute_due_date: due,
    // By the date as it is shown.
    status: due === null ? "NO_DATE" : Date.parse(due) < now ? "OVERDUE" : "UPCOMING",
    priority: row.priority,
    intake_task_status: "PENDING",
    reference_id: null,
  };
}
