import * as z from "zod";
import { Task, taskCategories } from "../contracts/intake.ts";
import { defineOperation, json } from "../operation.ts";
import { controlOperation } from "../services.ts";
import { timestamp } from "../shapes.ts";
import { defineItemPage, pageQuery } from "./shapes.ts";

export const listUserTasks = defineOperation({
  id: "user-tasks.list",
  ...controlOperation,
  summary: "List the tasks of users, newest first",
  path: "/_emulator/user-tasks",
  request: { query: z.object(pageQuery) },
  responses: {
    200: json(
      defineItemPage(
        z.strictObject({
          ...Task.shape,
          workspace_id: z.int(),
          task_category: z.enum(taskCategories),
          assignees: z.array(z.strictObject({ email: z.string(), assignee_type: z.string() })),
          intake_ids: z.array(z.int()),
          created_at: timestamp,
        }),
      ),
    ),
  },
  cli: {
    command: "emulator user-tasks",
    rows: "items",
    columns: ["id", "workspace_id", "task_category", "status", "priority", { name: "title", shrinkPriority: 1 }],
  },
  basis: { assumed: "No public route shows tasks without an intake. The control plane is part of the emulator." },
  examples: [{ title: "List the tasks" }],
});
