import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createFieldErrors } from "../../../support/contracts.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { assertRejected } from "../../../support/rejections.ts";

const intakes = "/api/v1/public/legal_intake/";
const toBen = { entity_id: "12", entity_type: "ORG_USER", assignee_type: "ASSIGNED_TO" };
const createIntakeReference = (entity_id: number) => ({ entity_id, entity_type: "LEGAL_INTAKE" });

const createTask = ({ api }: TestEmulator, body: object) => api("POST", "/api/v2.1/public/user_tasks/", { body });
const createIntake = ({ api }: TestEmulator) => api("POST", intakes, { body: { title: "Help", workflow_id: 201 } });

async function listTasks({ api }: TestEmulator): Promise<object[]> {
  const { body } = await api("GET", `${intakes}1/`);
  return (body as { tasks: object[] }).tasks;
}

const task = {
  id: 1,
  title: "Ask for the budget",
  notes: null,
  absolute_due_date: null,
  status: "NO_DATE",
  priority: "MEDIUM",
  intake_task_status: "PENDING",
  reference_id: null,
};

describe("user-tasks.create", () => {
  it("returns a task that the intake also lists", async (t) => {
    const emulator = await startTestEmulator(t);
    await createIntake(emulator);
    const response = await createTask(emulator, {
      title: "Ask for the budget",
      assignees: [toBen],
      task_category: "INTAKE_TASK",
      task_associations: [createIntakeReference(1), createIntakeReference(1)],
    });
    assert.deepEqual(pickStatusAndBody(response), { status: 201, body: task });
    assert.deepEqual(await listTasks(emulator), [task]);
  });

  it("accepts a due date, which passes with virtual time", async (t) => {
    const emulator = await startTestEmulator(t);
    await createIntake(emulator);
    const more = { notes: "By Friday", priority: "HIGH", absolute_due_date: "2031-01-03T05:04:05.700+02:00" };
    const response = await createTask(emulator, {
      title: task.title,
      assignees: [toBen],
      task_associations: [createIntakeReference(1)],
      ...more,
    });
    const dated = { ...task, ...more, absolute_due_date: "2031-01-03T03:04:05Z", status: "UPCOMING" };
    assert.deepEqual(pickStatusAndBody(response), { status: 201, body: dated });
    await emulator.control("POST", "clock/advance", { body: { by: "P1D" } });
    assert.deepEqual(await listTasks(emulator), [dated]);
    await emulator.control("POST", "clock/advance", { body: { to: "2031-01-03T03:04:05.001Z" } });
    assert.deepEqual(await listTasks(emulator), [{ ...dated, status: "OVERDUE" }]);
  });

  it("lists a task in its own intake and in user-tasks.list, newest first", async (t) => {
    const emulator = await startTestEmulator(t);
    await createIntake(emulator);
    await createTask(emulator, { title: "Renew the lease", assignees: [toBen], task_category: "OBLIGATION_TASK" });
    await createTask(emulator, { title: task.title, assignees: [], task_associations: [createIntakeReference(1)] });
    assert.deepEqual(await listTasks(emulator), [{ ...task, id: 2 }]);
    const row = { workspace_id: 1, created_at: "2031-01-02T03:04:05.000Z" };
    assert.deepEqual(pickStatusAndBody(await emulator.control("GET", "user-tasks")), {
      status: 200,
      body: {
        items: [
          { ...task, id: 2, ...row, task_category: "USER_TASK", assignees: [], intake_ids: [1] },
          {
            ...task,
            title: "Renew the lease",
            ...row,
            task_category: "OBLIGATION_TASK",
            assignees: [{ email: "ben@northwind.example", assignee_type: "ASSIGNED_TO" }],
            intake_ids: [],
          },
        ],
        total: 2,
      },
    });
    const second = (await emulator.control("GET", "user-tasks?limit=1&offset=1")).body as { items: { id: number }[] };
    assert.equal(second.items[0]?.id, 1);
  });

  const invalid: [string, object, object][] = [
    ["an empty body", {}, { title: ["Field required"], assignees: ["Field required"] }],
    [
      "users of another workspace",
      { title: "x", assignees: [toBen, { ...toBen, entity_id: "21" }] },
      { assignees: { 1: { entity_id: ['Invalid pk "21" - object does not exist.'] } } },
    ],
    [
      "a due date after the year 9999 in UTC",
      { title: "x", assignees: [], absolute_due_date: "9999-12-31T23:59:59-01:00" },
      { absolute_due_date: ["Input should be a valid datetime"] },
    ],
    [
      "unknown intakes",
      { title: "x", assignees: [], task_associations: [createIntakeReference(1), createIntakeReference(9)] },
      { task_associations: { 1: { entity_id: ['Invalid pk "9" - object does not exist.'] } } },
    ],
    [
      "an unknown category and entity type",
      { title: "x", assignees: [], task_category: "X", task_associations: [{ entity_id: 1, entity_type: "CONTRACT" }] },
      {
        task_category: ["Input should be 'USER_TASK', 'OBLIGATION_TASK' or 'INTAKE_TASK'"],
        task_associations: { 0: { entity_type: ["Input should be 'LEGAL_INTAKE'"] } },
      },
    ],
  ];
  for (const [label, body, problems] of invalid) {
    it(`rejects ${label} with field errors, without changes`, async (t) => {
      const emulator = await startTestEmulator(t);
      await createIntake(emulator);
      await assertRejected(emulator, () => createTask(emulator, body), createFieldErrors(problems));
    });
  }
});
