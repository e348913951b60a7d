import * as z from "zod";
import type { Task } from "../../../src/api/contracts/intake.ts";
import { taskCategories } from "../../../src/api/contracts/user-tasks.ts";
import { isoSeconds } from "../../../src/base/clock.ts";
import { rows } from "../../store/port.ts";
import { storedDeadline, storedTime } from "../../store/stored-time.ts";
import { IntakeAssignee } from "./rows.ts";

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
export type UserTask = z.infer<typeof UserTask>;

export const userTasks = rows<UserTask, "intake">({
  name: "user_tasks",
  schema: UserTask,
  key: (row) => row.id,
  numbers: { user_task: (row) => row.id },
  indexes: { intake: (row) => row.intake_ids },
});

/** A task as intakes show it; no public route completes one. */
export function taskRecord(row: UserTask, now: number): z.infer<typeof Task> {
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
