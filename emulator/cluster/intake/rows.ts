import * as z from "zod";
import type { Assignee, IntakeRecord } from "../../../src/api/contracts/intake.ts";
import type { Fail } from "../../../src/api/failures.ts";
import { dictionary } from "../../../src/api/shapes.ts";
import { toIsoSeconds } from "../../../src/base/clock.ts";
import { type Workspace, workflows } from "../../domain/workspaces.ts";
import { ProblemCollector } from "../../http/dialects/field-problems.ts";
import { defineNumberedRows, parseRowNumber, storedDeadline, storedTime, type View } from "../../store/port.ts";
import { toOrgUser } from "../workspace/users.ts";
import { findActiveUser, formatRowNotFound } from "../workspace/workspace-rows.ts";

export const IntakeAssignee = z.strictObject({
  user_id: z.int(),
  assignee_type: z.enum(["ASSIGNED_TO", "COLLABORATOR"]),
});

export const Intake = z.strictObject({
  id: z.int(),
  workspace_id: z.int(),
  public_id: z.string(),
  title: z.string(),
  description: z.string().nullable(),
  status: z.enum(["DRAFT", "PENDING", "IN_PROGRESS", "BLOCKED", "COMPLETED", "DISCARDED"]),
  priority: z.enum(["LOW", "MEDIUM", "HIGH"]),
  due_at: storedDeadline(z.number()).nullable(),
  metadata: dictionary(z.string()),
  workflow_id: z.int(),
  /** The published version of the workflow at the time of creation. */
  frozen_workflow_id: z.int(),
  file_ids: z.array(z.string()),
  assignees: z.array(IntakeAssignee),
  created_by: z.int(),
  created_at: storedTime(z.number()),
  modified_at: storedTime(z.number()),
  /** Deleted intakes stay stored but are treated as unknown. */
  deleted_at: storedTime(z.number()).nullable(),
});
export type Intake = z.infer<typeof Intake>;

/** Deleted intakes are not in any index. */
export const intakes = defineNumberedRows("intakes", "intake", Intake, {
  workspace: (row) => (row.deleted_at === null ? row.workspace_id : undefined),
});

export function findIntake(view: View, workspace: Workspace, id: number): Intake | undefined {
  const row = view.get(intakes, id);
  return row && row.workspace_id === workspace.id && row.deleted_at === null ? row : undefined;
}

/** Returns a reference such as `I-0081` (DECISIONS.md, F8). */
export const formatIntakeReference = ({ id }: Pick<Intake, "id">): string => `I-${String(id).padStart(4, "0")}`;

export const parseDueDate = (date: string | null | undefined): number | null =>
  date == null ? null : Date.parse(date);

export function toIntakeRecord(view: View, row: Intake): z.infer<typeof IntakeRecord> {
  const workflow = view.get(workflows, row.workflow_id);
  if (!workflow) throw new Error(`Intake ${row.id} is of workflow ${row.workflow_id}, which does not exist`);
  const { id, title, description, status, priority, metadata, public_id } = row;
  const { id: workflow_id, frozen_version: _, workspace_id: __, ...workflowFields } = workflow;
  return {
    ...{ id, title, description, status, priority, metadata, public_id },
    due_date: row.due_at === null ? null : toIsoSeconds(row.due_at),
    reference_id: formatIntakeReference(row),
    created_by: toOrgUser(view, row.created_by),
    created_at: toIsoSeconds(row.created_at),
    modified_at: toIsoSeconds(row.modified_at),
    frozen_workflow: { ...workflowFields, id: row.frozen_workflow_id, workflow_id },
  };
}

export function requireAssignees(
  view: View,
  workspace: Workspace,
  assignees: readonly z.infer<typeof Assignee>[] | null | undefined,
  fail: Fail<"invalid-fields">,
): Intake["assignees"] {
  const problems = new ProblemCollector();
  const found: Intake["assignees"] = [];
  for (const [index, { entity_id, assignee_type }] of (assignees ?? []).entries()) {
    const user = findActiveUser(view, workspace, parseRowNumber(entity_id));
    if (user) found.push({ user_id: user.id, assignee_type });
    else problems.add(["assignees", index, "entity_id"], formatRowNotFound(entity_id));
  }
  if (problems.fields) fail("invalid-fields", problems.fields);
  return found;
}
