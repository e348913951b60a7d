import * as z from "zod";
import { type Task, taskCategories } from "../../../src/api/contracts/intake.ts";
import { toIsoSeconds } from "../../../src/base/clock.ts";
import type { Workspace } from "../../domain/workspaces.ts";
import { ProblemCollector } from "../../http/dialects/field-problems.ts";
import { inTransaction } from "../../http/handler.ts";
import { reply } from "../../http/reply.ts";
import { defineNumberedRows, storedDeadline, storedTime, type View } from "../../store/port.ts";
import type { ClusterHandlers } from "../context.ts";
import { formatRowNotFound } from "../workspace/workspace-rows.ts";
import { findIntake, IntakeAssignee, parseDueDate, requireAssignees } from "./rows.ts";

export const userTaskHandlers = {
  "user-tasks.create": inTransaction((tx, { body }, { clock, caller, fail }) => {
    const { workspace, user } = caller;
    const assignees = requireAssignees(tx, workspace, body.assignees, fail);
    const intake_ids = (body.task_associations ?? []).map(({ entity_id }) => entity_id);
    const problems = findUnknownIntakes(tx, workspace, intake_ids);
    if (problems) return fail("invalid-fields", problems);
    const now = clock.now();
    const row: UserTask = {
      id: tx.next("user_task"),
      workspace_id: workspace.id,
      title: body.title,
      notes: body.notes ?? null,
      due_at: parseDueDate(body.absolute_due_date),
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

function findUnknownIntakes(view: View, workspace: Workspace, ids: readonly number[]) {
  const problems = new ProblemCollector();
  for (const [index, id] of ids.entries()) {
    const intake = findIntake(view, workspace, id);
    if (!intake) problems.add(["task_associations", index, "entity_id"], formatRowNotFound(id));
  }
  return problems.fields;
}

/** Tasks of users (DECISIONS.md, C27). */
const UserTask = z.strictObject({
  id: z.int(),
  workspace_id: z.int(),
  title: z.string(),
  notes: z.string().nullable(),
  due_at: storedDeadline(z.number()).nullable(),
  priority: z.enum(["LOW", "MEDIUM", "HIGH"]),
  task_category: z.enum(taskCategories),
  intake_ids: z.array(z.int()),
  assignees: z.array(IntakeAssignee),
  created_by: z.int(),
  created_at: storedTime(z.number()),
});
type UserTask = z.infer<typeof UserTask>;

export const userTasks = defineNumberedRows("user_tasks", "user_task", UserTask, { intake: (row) => row.intake_ids });

/** Returns a task in the format of intakes. No public route completes a task. */
export function toTaskRecord({ id, title, notes, priority, due_at }: UserTask, now: number): z.infer<typeof Task> {
  const due = due_at === null ? null : toIsoSeconds(due_at);
  return {
    ...{ id, title, notes, priority, absolute_due_date: due, intake_task_status: "PENDING", reference_id: null },
    // The status is computed from the formatted date.
    status: due === null ? "NO_DATE" : Date.parse(due) < now ? "OVERDUE" : "UPCOMING",
  };
}
