import * as z from "zod";
import { defineOperation, empty, json } from "../operation.ts";
import { contractOperation, publicOperation, specifiedOperation } from "../services.ts";
import { dictionary, nullableString, optionalString, timestamp } from "../shapes.ts";
import { compositeParams, contractParams, OrgUser } from "./shapes.ts";

export const Priority = z.enum(["LOW", "MEDIUM", "HIGH"]);
export const IntakeStatus = z.enum(["DRAFT", "PENDING", "IN_PROGRESS", "BLOCKED", "COMPLETED", "DISCARDED"]);

/** A row of `assignees` in a request. */
export const Assignee = z.object({
  entity_id: z.string().describe("ID of the user"),
  entity_type: z.enum(["ORG_USER"]),
  assignee_type: z.enum(["ASSIGNED_TO", "COLLABORATOR"]),
});

const title = z.string().min(1).max(255).describe("Title of the request");
const description = nullableString.describe("Description of the request");
/** ISO 8601 does not require seconds, and Java omits them at a full minute. */
const isoTimes = [z.iso.datetime({ offset: true }), z.iso.datetime({ offset: true, precision: -1 })];
const isIsoTime = (text: string): boolean => isoTimes.some((each) => each.safeParse(text).success);
/** A time of the year 9999 with an offset can be one of the year 10000 in UTC. */
const isDueDate = (text: string): boolean => isIsoTime(text) && /^\d/.test(new Date(text).toISOString());
const dueDate = z
  .stringFormat("datetime", isDueDate, "Invalid ISO datetime")
  .meta({ format: "date-time", description: "ISO 8601 UTC timestamp" })
  .nullable();
const assignees = z.array(Assignee).nullable().describe("Assignees");
const metadata = dictionary(z.string()).nullable().describe("Custom keys with string values");

export const CreateIntakeRequest = z.object({
  title,
  description: description.optional(),
  priority: Priority.optional().describe("Priority (default: MEDIUM)"),
  workflow_id: z.int().describe("A published INTAKE_WORKFLOW of the workspace"),
  due_date: dueDate.optional(),
  file_ids: z.array(z.string()).nullable().optional().describe("file_id of an uploaded file to attach"),
  assignees: assignees.optional(),
  metadata: metadata.optional(),
});

export const UpdateIntakeRequest = z.object({
  title: title.optional(),
  description: description.optional(),
  status: IntakeStatus.optional().describe("Status of the request"),
  priority: Priority.optional().describe("Priority"),
  due_date: dueDate.optional(),
  assignees: assignees.optional(),
  metadata: metadata.optional(),
});

const AssigneeOut = z.strictObject({
  entity_id: z.string(),
  entity_type: z.enum(["ORG_USER", "ROLE"]),
  assignee_type: z.enum(["ASSIGNED_TO", "COLLABORATOR"]),
  assignee_org_user: OrgUser,
});

/** DECISIONS.md, F8 */
export const IntakeRecord = z.strictObject({
  id: z.int(),
  title: z.string(),
  description: z.string().nullish(),
  status: IntakeStatus,
  priority: Priority,
  due_date: timestamp.nullish(),
  metadata: dictionary(z.string()),
  public_id: z.string(),
  reference_id: z.string(),
  created_by: OrgUser,
  created_at: timestamp,
  modified_at: timestamp,
  frozen_workflow: z.strictObject({
    id: z.int(),
    workflow_id: z.int(),
    title: z.string(),
    description: z.string(),
    type: z.enum(["TEMPLATE_WORKFLOW", "UPLOAD_WORKFLOW", "INTAKE_WORKFLOW"]),
  }),
});

export const Task = z.strictObject({
  id: z.int(),
  title: z.string(),
  notes: z.string().nullish(),
  absolute_due_date: timestamp.nullish(),
  status: z.enum(["COMPLETED", "UPCOMING", "OVERDUE", "NO_DATE"]),
  priority: Priority,
  intake_task_status: z.enum(["PENDING", "IN_PROGRESS", "BLOCKED", "COMPLETED", "DISCARDED"]),
  reference_id: z.string().nullish(),
});

export const IntakeDetail = z.strictObject({
  ...IntakeRecord.shape,
  assignees: z.array(AssigneeOut),
  collaborators: z.array(AssigneeOut),
  tasks: z.array(Task),
  attachments: z.array(z.strictObject({ uuid: z.string(), name: z.string() })),
});

const params = z.object({ intake_id: z.int().describe("ID of the intake") });

export const createIntake = defineOperation({
  id: "intake.create",
  ...specifiedOperation,
  summary: "Create a legal intake",
  method: "POST",
  path: "/api/v1/public/legal_intake/",
  request: { body: json(CreateIntakeRequest) },
  responses: { 201: json(IntakeDetail) },
  failures: ["unpublished-workflow", "not-an-intake-workflow", "unknown-file-ids"],
  cli: { by: "intake create" },
  examples: [
    {
      title: "Create an intake with an uploaded file",
      body: {
        title: "Review the reseller agreement",
        priority: "HIGH",
        workflow_id: 201,
        file_ids: ["4d0b0f5e-8f4b-4f43-9c4e-0a3c5a2f6f10"],
        metadata: { cost_center: "4711" },
      },
    },
  ],
});

const list = (choice: typeof Priority | typeof IntakeStatus, what: string) =>
  z
    .string()
    .refine((text) => text.split(",").every((each) => choice.safeParse(each).success), {
      error: `Value should be one of ${choice.options.join(", ")}`,
    })
    .describe(`Show only these ${what}, separated by commas`);

/** Only documents the pattern: an unknown key is rejected with a different error. */
const sortKey = z.string().meta({ pattern: "^[-+ ]?(?:created_at|priority|status|title)$" });

export const listIntakes = defineOperation({
  id: "intake.list",
  ...publicOperation,
  summary: "List legal intakes",
  path: "/api/v1/public/legal_intake/",
  request: {
    query: z.object({
      page: z.int().min(1).default(1).describe("Page number, from 1"),
      limit: z.int().min(1).max(100).default(50).describe("Rows per page"),
      query: optionalString.describe("Search in title, description and reference ID"),
      sort: sortKey.optional().describe("Sort by created_at, priority, status or title, with - or + before"),
      filter__priority: Priority.optional().describe("Show only this priority"),
      "filter__priority[$eq]": Priority.optional().describe("Alias without an operator"),
      "filter__priority[$ne]": Priority.optional().describe("Show only other priorities"),
      "filter__priority[$in]": list(Priority, "priorities").optional(),
      filter__status: IntakeStatus.optional().describe("Show only this status"),
      "filter__status[$eq]": IntakeStatus.optional().describe("Alias without an operator"),
      "filter__status[$ne]": IntakeStatus.optional().describe("Show only other statuses"),
      "filter__status[$in]": list(IntakeStatus, "statuses").optional(),
    }),
  },
  responses: {
    200: json(
      z.strictObject({
        intakes: z.array(IntakeRecord),
        total_count: z.int(),
        page: z.int(),
        limit: z.int(),
        total_pages: z.int(),
        has_next: z.boolean(),
        has_previous: z.boolean(),
      }),
    ),
  },
  failures: ["invalid-sort"],
  cli: {
    command: "intake list",
    rows: "intakes",
    columns: ["id", "reference_id", "status", "priority", { name: "title", shrinkPriority: 1 }],
  },
  examples: [{ title: "List open, urgent intakes", query: { filter__priority: "HIGH", filter__status: "PENDING" } }],
});

export const showIntake = defineOperation({
  id: "intake.show",
  ...publicOperation,
  summary: "Show a legal intake",
  path: "/api/v1/public/legal_intake/{intake_id}/",
  request: { params },
  responses: { 200: json(IntakeDetail) },
  failures: ["not-found"],
  hidesMissing: true,
  cli: { command: "intake show" },
  examples: [{ title: "Show an intake", params: { intake_id: 1 } }],
});

export const updateIntake = defineOperation({
  id: "intake.update",
  ...publicOperation,
  summary: "Change a legal intake",
  description: "Missing fields keep their values; null clears description and due_date.",
  method: "PATCH",
  path: "/api/v1/public/legal_intake/{intake_id}/",
  request: { params, body: json(UpdateIntakeRequest) },
  responses: { 200: json(IntakeDetail) },
  failures: ["not-found"],
  hidesMissing: true,
  cli: { command: "intake update" },
  examples: [{ title: "Start work on it", params: { intake_id: 1 }, body: { status: "IN_PROGRESS" } }],
});

export const deleteIntake = defineOperation({
  id: "intake.delete",
  ...publicOperation,
  summary: "Delete a legal intake",
  method: "DELETE",
  path: "/api/v1/public/legal_intake/{intake_id}/",
  request: { params },
  responses: { 204: empty() },
  failures: ["not-found"],
  hidesMissing: true,
  cli: { command: "intake delete", confirm: "yes" },
  examples: [{ title: "Withdraw a request", params: { intake_id: 1 } }],
});

export const updateIntakeForm = defineOperation({
  id: "intake-form.update",
  ...publicOperation,
  summary: "Change a few answers of a contract's intake form",
  description: "Sent variables are replaced; others are kept. Unknown variables are accepted.",
  method: "PATCH",
  path: "/api/v2.1/public/contracts/{composite_id}/intake_form/response",
  request: { params: compositeParams, body: json(dictionary(z.unknown()).describe("Answers, by variable")) },
  responses: { 200: json(z.strictObject({ data: dictionary(z.unknown()), created: timestamp })) },
  failures: ["not-found", "intake-form-closed"],
  emits: ["CONTRACT_DATA_UPDATED"],
  cli: { command: "contracts intake-form update" },
  examples: [{ title: "Correct one answer", params: { composite_id: "T-1" }, body: { purpose: "Renewal" } }],
});

export const showQuestionnaireResponses = defineOperation({
  id: "intake-form.responses",
  ...publicOperation,
  summary: "Show the intake form answers of a contract",
  path: "/api/v2.1/public/contracts/{contract_id}/questionnaire/responses/",
  request: {
    params: contractParams,
    query: z.object({
      questionnaire_type: z
        .enum(["INTAKE_FORM", "TEMPLATE"])
        .describe("Kind of form: intake form, or attributes of the template"),
    }),
  },
  responses: {
    200: json(
      z.strictObject({
        questionnaire_response_data: dictionary(z.unknown()),
        respondents: z.array(z.strictObject({ created_at: timestamp, created_by: z.string(), org_name: z.string() })),
      }),
    ),
  },
  failures: ["not-found"],
  cli: { command: "contracts intake-form show" },
  examples: [
    { title: "Show the intake form", params: { contract_id: 1 }, query: { questionnaire_type: "INTAKE_FORM" } },
  ],
});

export const taskCategories = ["USER_TASK", "OBLIGATION_TASK", "INTAKE_TASK"] as const;

export const createUserTask = defineOperation({
  id: "user-tasks.create",
  ...contractOperation,
  summary: "Create a task for users, optionally about a legal intake",
  description: "An intake shows its tasks; svc emulator user-tasks lists all tasks.",
  method: "POST",
  path: "/api/v2.1/public/user_tasks/",
  request: {
    body: json(
      z.object({
        title: z.string().min(1).max(255).describe("Title of the task"),
        assignees: z.array(Assignee).describe("Assignee"),
        task_category: z.enum(taskCategories).default("USER_TASK").describe("Kind of task"),
        task_associations: z
          .array(z.object({ entity_id: z.int().describe("ID of the intake"), entity_type: z.enum(["LEGAL_INTAKE"]) }))
          .optional()
          .describe("Subject of the task"),
        notes: z.string().nullable().optional().describe("Instructions for the assignee"),
        priority: Priority.optional().describe("Priority (default: MEDIUM)"),
        absolute_due_date: dueDate.optional(),
      }),
    ),
  },
  responses: { 201: json(Task) },
  cli: { command: "contracts user-tasks create" },
  basis: {
    assumed:
      "Path, title, categories, associations and status are public. Rows of assignees follow intakes. The other fields and the response follow a task of an intake (DECISIONS.md, C27).",
  },
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
