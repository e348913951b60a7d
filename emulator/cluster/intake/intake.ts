import type * as z from "zod";
import type { IntakeDetail, listIntakes } from "../../../src/api/contracts/intake.ts";
import type { Fail } from "../../../src/api/failures.ts";
import type { InputOf, ResultOf } from "../../../src/api/operation.ts";
import { lookupTable } from "../../../src/base/object.ts";
import { type Workspace, workflows } from "../../domain/workspaces.ts";
import { inTransaction } from "../../http/handler.ts";
import type { View } from "../../store/port.ts";
import type { ClusterHandlers } from "../context.ts";
import { paginateList } from "../response.ts";
import { getWorkspaceFile, type StoredObject, storedObjects } from "../storage/storage.ts";
import { toOrgUser } from "../workspace/users.ts";
import {
  findIntake,
  formatIntakeReference,
  type Intake,
  intakes,
  parseDueDate,
  requireAssignees,
  toIntakeRecord,
} from "./rows.ts";
import { toTaskRecord, userTasks } from "./user-tasks.ts";

export const intakeHandlers = {
  // The order of the checks is fields, published, INTAKE_WORKFLOW, files (DECISIONS.md, C7).
  "intake.create": inTransaction((tx, { body }, { clock, ids, caller, fail, finding }) => {
    const { workspace } = caller;
    const assignees = requireAssignees(tx, workspace, body.assignees, fail);
    const workflow = tx.get(workflows, body.workflow_id);
    // An unknown workflow is rejected like an unpublished one, which hides the rows of other workspaces.
    if (!workflow?.frozen_version || workflow.workspace_id !== workspace.id) return fail("unpublished-workflow");
    if (workflow.type !== "INTAKE_WORKFLOW") return fail("not-an-intake-workflow");
    const files = requireFiles(tx, workspace, body.file_ids ?? [], fail);
    for (const file of files) if (!file.blob) finding("file-not-uploaded", `no bytes were uploaded for ${file.key}`);

    const now = clock.now();
    const row: Intake = {
      id: tx.next("intake"),
      workspace_id: workspace.id,
      public_id: ids.uuid(),
      title: body.title,
      description: body.description ?? null,
      status: "PENDING",
      priority: body.priority ?? "MEDIUM",
      due_at: parseDueDate(body.due_date),
      metadata: body.metadata ?? {},
      workflow_id: workflow.id,
      frozen_workflow_id: workflow.frozen_version.id,
      file_ids: files.map((file) => file.key),
      assignees,
      created_by: caller.user.id,
      created_at: now,
      modified_at: now,
      deleted_at: null,
    };
    tx.put(intakes, row);
    return toIntakeDetail(tx, row, now);
  }),

  "intake.list": ({ query }, { store, caller, fail }) => listIntakePage(store, caller.workspace, query, fail),

  "intake.show": ({ params }, { store, clock, caller, fail }) =>
    toIntakeDetail(store, requireIntake(store, caller.workspace, params.intake_id, fail), clock.now()),

  "intake.update": inTransaction((tx, { params, body }, { clock, caller, fail }) => {
    const row = requireIntake(tx, caller.workspace, params.intake_id, fail);
    const { due_date, metadata = row.metadata, assignees, ...fields } = body;
    const updatedIntake: Intake = {
      ...row,
      ...fields,
      due_at: due_date === undefined ? row.due_at : parseDueDate(due_date),
      metadata: metadata ?? {},
      assignees: assignees === undefined ? row.assignees : requireAssignees(tx, caller.workspace, assignees, fail),
      modified_at: clock.now(),
    };
    tx.put(intakes, updatedIntake);
    return toIntakeDetail(tx, updatedIntake, updatedIntake.modified_at);
  }),

  "intake.delete": inTransaction((tx, { params }, { clock, caller, fail }) => {
    const row = requireIntake(tx, caller.workspace, params.intake_id, fail);
    tx.put(intakes, { ...row, deleted_at: clock.now() });
  }),
} satisfies ClusterHandlers;

/** Returns the intake with an id. An unknown, deleted or foreign intake gets 403, not 404 (DECISIONS.md, F3). */
function requireIntake(view: View, workspace: Workspace, id: number, fail: Fail<"permission-denied">) {
  return findIntake(view, workspace, id) ?? fail("permission-denied");
}

function requireFiles(
  view: View,
  workspace: Workspace,
  fileIds: readonly string[],
  fail: Fail<"unknown-file-ids">,
): StoredObject[] {
  return [...new Set(fileIds.map((id) => getWorkspaceFile(view, workspace, id) ?? fail("unknown-file-ids")))];
}

function toIntakeDetail(view: View, row: Intake, now: number): z.infer<typeof IntakeDetail> {
  const listPeople = (type: "ASSIGNED_TO" | "COLLABORATOR") =>
    row.assignees
      .filter(({ assignee_type }) => assignee_type === type)
      .map(({ user_id }) => ({
        entity_id: String(user_id),
        entity_type: "ORG_USER" as const,
        assignee_type: type,
        assignee_org_user: toOrgUser(view, user_id),
      }));
  const tasks = view.list(userTasks, { by: "intake", equals: row.id });
  return {
    ...toIntakeRecord(view, row),
    assignees: listPeople("ASSIGNED_TO"),
    collaborators: listPeople("COLLABORATOR"),
    tasks: tasks.map((task) => toTaskRecord(task, now)),
    attachments: row.file_ids.map((uuid) => ({ uuid, name: view.get(storedObjects, uuid)?.filename ?? "" })),
  };
}

type IntakeQuery = InputOf<typeof listIntakes>["query"];
type IntakeOrder = (a: Intake, b: Intake) => number;

const priorityRank = { LOW: 0, MEDIUM: 1, HIGH: 2 } as const;
const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const intakeOrders = lookupTable<IntakeOrder>({
  created_at: (a, b) => a.created_at - b.created_at || a.id - b.id,
  priority: (a, b) => priorityRank[a.priority] - priorityRank[b.priority],
  status: (a, b) => compareText(a.status, b.status),
  title: (a, b) => compareText(a.title.toLowerCase(), b.title.toLowerCase()),
});

/** Returns a page of the workspace's intakes, newest first by default (DECISIONS.md, F8). */
function listIntakePage(
  view: View,
  workspace: Workspace,
  query: IntakeQuery,
  fail: Fail<"invalid-sort">,
): ResultOf<typeof listIntakes> {
  const order = parseOrder(query.sort, fail);
  const newestFirst = { by: "workspace", equals: workspace.id, reverse: true } as const;
  const rows = view.list(intakes, newestFirst).filter((row) => matches(row, query));
  const page = paginateList(order ? rows.sort(order) : rows, query);
  const pages = Math.max(1, Math.ceil(page.total_results / page.limit));
  return {
    intakes: page.results.map((row) => toIntakeRecord(view, row)),
    total_count: page.total_results,
    page: page.page,
    limit: page.limit,
    total_pages: pages,
    has_next: page.page < pages,
    has_previous: page.page > 1,
  };
}

function parseOrder(sort: string | undefined, fail: Fail<"invalid-sort">): IntakeOrder | undefined {
  if (sort === undefined) return undefined;
  // A plus in a query string means a space, so an unescaped leading + arrives as a space.
  const name = sort.replace(/^[-+ ]/, "");
  const order = intakeOrders[name] ?? fail("invalid-sort");
  return sort.startsWith("-") ? (a, b) => order(b, a) : order;
}

function matches(row: Intake, query: IntakeQuery): boolean {
  const text = query.query?.toLowerCase();
  const matchesText = [row.title, row.description ?? "", formatIntakeReference(row)].some(
    (value) => text === undefined || value.toLowerCase().includes(text),
  );
  return (
    matchesText &&
    matchesFilter(row.priority, query, "filter__priority") &&
    matchesFilter(row.status, query, "filter__status")
  );
}

/** All given spellings of the filter must match. */
function matchesFilter(value: string, query: IntakeQuery, field: "filter__priority" | "filter__status"): boolean {
  const expected = query[field] ?? value;
  const equals = query[`${field}[$eq]`] ?? value;
  const allowedList = query[`${field}[$in]`];
  return (
    value === expected &&
    value === equals &&
    value !== query[`${field}[$ne]`] &&
    (allowedList === undefined || allowedList.split(",").includes(value))
  );
}
