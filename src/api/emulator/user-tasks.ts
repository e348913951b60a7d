import * as z from "zod";
import { assumed } from "../basis.ts";
import { Task } from "../contracts/intake.ts";
import { taskCategories } from "../contracts/user-tasks.ts";
import { json, operation } from "../operation.ts";
import { emulator } from "../services.ts";
import { timestamp } from "../timestamp.ts";

export const listUserTasks = operation({
  id: "user-tasks.list",
  service: emulator,
  summary: "List the tasks of users, newest first",
  method: "GET",
  path: "/_emulator/user-tasks",
  auth: "control-token",
  request: {
    query: z.object({
      limit: z.int().min(1).max(500).default(50).describe("How many at most"),
      offset: z.int().min(0).default(0).describe("How many to pass over first"),
    }),
  },
  responses: {
    200: json(
      z.strictObject({
        items: z.array(
          z.strictObject({
            ...Task.shape,
            workspace_id: z.int(),
            task_category: z.enum(taskCategories),
            assignees: z.array(z.strictObject({ email: z.string(), assignee_type: z.string() })),
            intake_ids: z.array(z.int()),
            created_at: timestamp,
          }),
        ),
        total: z.int().describe("How many there are on all pages"),
      }),
    ),
  },
  failures: [],
  cli: {
    command: "emulator user-tasks",
    rows: "items",
    columns: ["id", "workspace_id", "task_category", "status", "priority", { name: "title", cut: 1 }],
  },
  basis: assumed("No public route shows those that are about no intake; the control plane is the emulator's own."),
  examples: [{ title: "What is to be done?" }],
});
