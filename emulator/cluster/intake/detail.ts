import type * as z from "zod";
import type { IntakeDetail } from "../../../src/api/contracts/intake.ts";
import type { View } from "../../store/port.ts";
import { storedObjects } from "../storage/objects.ts";
import { orgUser } from "../workspace/people.ts";
import { type Intake, intakeRecord } from "./rows.ts";
import { taskRecord, userTasks } from "./user-task-rows.ts";

/** An intake with its people, tasks and files. */
export async function intakeDetail(view: View, row: Intake, now: number): Promise<z.infer<typeof IntakeDetail>> {
  const people = (type: "ASSIGNED_TO" | "COLLABORATOR") =>
    Promise.all(
      row.assignees
        .filter(({ assignee_type }) => assignee_type === type)
        .map(async ({ user_id }) => ({
          entity_id: String(user_id),
          entity_type: "ORG_USER" as const,
          assignee_type: type,
          assignee_org_user: await orgUser(view, user_id),
        })),
    );
  const tasks = await view.list(userTasks, { by: "intake", equals: row.id });
  const attachments = await Promise.all(
    row.file_ids.map(async (uuid) => ({ uuid, name: (await view.get(storedObjects, uuid))?.filename ?? "" })),
  );
  return {
    ...(await intakeRecord(view, row)),
    assignees: await people("ASSIGNED_TO"),
    collaborators: await people("COLLABORATOR"),
    tasks: tasks.map((task) => taskRecord(task, now)),
    attachments,
  };
}
