import * as z from "zod";
import { assumed } from "../basis.ts";
import { json, operation } from "../operation.ts";
import { contracts } from "../services.ts";
import { Assignee, Priority, Task } from "./intake.ts";

export const taskCategories = ["USER_TASK", "OBLIGATION_TASK", "INTAKE_TASK"] as const;

export const createUserTask = operation({
  id: "user-tasks.create",
  service: contracts,
  summary: "Create a task for users, optionally about a legal intake",
  description: "An intake shows its tasks; svc emulator user-tasks lists all tasks.",
  method: "POST",
  path: "/api/v2.1/public/user_tasks/",
  auth: "api-key",
  request: {
    body: json(
      z.object({
        title: z.string().min(1).max(255).describe("Title of the task"),
        assignees: z.array(Assignee).describe("Assignee"),
        task_category: z.enum(taskCategories).default("USER_TASK").describe("Kind of task"),
        task_associations: z
          .array(z.object({ entity_id: z.int().describe("Id of the intake"), entity_type: z.enum(["LEGAL_INTAKE"]) }))
          .optional()
          .describe("Subject of the task"),
        notes: z.string().nullable().optional().describe("Instructions for the assignee"),
        priority: Priority.optional().describe("Priority (default: MEDIUM)"),
        absolute_due_date: z.iso.datetime({ offset: true }).nullable().optional().describe("ISO 8601 UTC timestamp"),
      }),
    ),
  },
  responses: { 201: json(Task) },
  failures: [],
  cli: { command: "contracts user-tasks create" },
  basis: assumed(
    "Path, title, categories, associations and status are public. A row of assignees is that of intakes. The other fields and the response are those of a task of an intake (DECISIONS.md, C27).",
  ),
  examples: [
    {
      title: "Create a task for an intake",
      body: {
        title: "Ask for the budget",
        assignees: [{ entity_id: "12", entity_type: "ORG_USER", assignee_type: "ASSIGNED_TO" }],
        task_category: "INTAKE_TASK",
        task_associations: [{ entity_id: 1, entity_type: "LEGAL_INTAKE" }],
      },
    },
  ],
});
