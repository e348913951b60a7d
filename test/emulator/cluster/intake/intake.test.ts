import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { assertRejected, notFoundResponse } from "../../../support/rejections.ts";
import { createWorkspaceApi } from "../../../support/workspace-api.ts";

const path = "/api/v1/public/legal_intake/";
const forbidden = { status: 403, body: { detail: "You do not have permission to perform this action." } };
const ada = { id: 11, name: "Ada Keller", email: "ada@northwind.example", designation: "General Counsel" };
const ben = { id: 12, name: "Ben Okafor", email: "ben@northwind.example", designation: "Contract Manager" };

const domain = (message: string) => ({
  status: 400,
  body: { detail: message, status_code: 400, code: "SVC_PUBLIC_00039", message },
});

type Api = TestEmulator["api"];

async function fileOf(api: Api): Promise<{ file_id: string; upload_url: string }> {
  const { body } = await api("POST", "/api/v2.1/public/workspace/files/uploads/", {
    body: { files: [{ filename: "nda.pdf", content_type: "application/pdf" }] },
  });
  return (body as { files: { file_id: string; upload_url: string }[] }).files[0]!;
}

async function createIntake(api: Api, body: object = {}): Promise<{ id: number; public_id: string }> {
  const response = await api("POST", path, { body: { title: "Help", workflow_id: 201, ...body } });
  assert.equal(response.status, 201, JSON.stringify(response.body));
  return response.body as { id: number; public_id: string };
}

describe("intake.create", () => {
  it("creates an intake with its files, users and metadata", async (t) => {
    const { api } = await startTestEmulator(t);
    const { file_id, upload_url } = await fileOf(api);
    await fetch(upload_url, { method: "PUT", body: "%PDF", headers: { "content-type": "application/pdf" } });
    const response = await api("POST", path, {
      body: {
        title: "Review the NDA",
        description: "They want mutual",
        priority: "HIGH",
        workflow_id: 201,
        due_date: "2031-02-01T12:00+02:00",
        file_ids: [file_id, file_id],
        assignees: [
          { entity_id: "11", entity_type: "ORG_USER", assignee_type: "COLLABORATOR" },
          { entity_id: "12", entity_type: "ORG_USER", assignee_type: "ASSIGNED_TO" },
        ],
        metadata: { cost_center: "4711", __proto__x: "y" },
      },
    });
    assert.equal(response.status, 201);
    const { public_id, ...rest } = response.body as { public_id: string };
    assert.match(public_id, /^[0-9a-f-]{36}$/);
    assert.deepEqual(rest, {
      id: 1,
      title: "Review the NDA",
      description: "They want mutual",
      status: "PENDING",
      priority: "HIGH",
      due_date: "2031-02-01T10:00:00Z",
      metadata: { cost_center: "4711", __proto__x: "y" },
      reference_id: "I-0001",
      created_by: ada,
      created_at: "2031-01-02T03:04:05Z",
      modified_at: "2031-01-02T03:04:05Z",
      frozen_workflow: {
        id: 2010,
        workflow_id: 201,
        title: "Legal help",
        description: "Ask the legal team",
        type: "INTAKE_WORKFLOW",
      },
      assignees: [{ entity_id: "12", entity_type: "ORG_USER", assignee_type: "ASSIGNED_TO", assignee_org_user: ben }],
      collaborators: [
        { entity_id: "11", entity_type: "ORG_USER", assignee_type: "COLLABORATOR", assignee_org_user: ada },
      ],
      tasks: [],
      attachments: [{ uuid: file_id, name: "nda.pdf" }],
    });
  });

  it("requires only a title and a workflow, and accepts null for other fields", async (t) => {
    const { api } = await startTestEmulator(t);
    const { body } = await api("POST", path, {
      body: {
        title: "Help",
        workflow_id: 201,
        description: null,
        due_date: null,
        file_ids: null,
        assignees: null,
        metadata: null,
      },
    });
    const { description, due_date, metadata, priority, assignees, attachments } = body as Record<string, unknown>;
    assert.deepEqual(
      { description, due_date, metadata, priority, assignees, attachments },
      { description: null, due_date: null, metadata: {}, priority: "MEDIUM", assignees: [], attachments: [] },
    );
  });

  it("accepts a file without bytes and records a finding", async (t) => {
    const { api, control } = await startTestEmulator(t);
    const { file_id } = await fileOf(api);
    await createIntake(api, { file_ids: [file_id] });
    const { body } = await control("GET", "requests?operation=intake.create");
    const { items } = body as { items: { findings: { code: string }[] }[] };
    assert.deepEqual(
      items.map(({ findings }) => findings.map(({ code }) => code)),
      [["file-not-uploaded"]],
    );
  });

  it("rejects file IDs of another workspace", async (t) => {
    const emulator = await startTestEmulator(t);
    const foreign = (await fileOf(await createWorkspaceApi(emulator, 2))).file_id;
    const file = (await fileOf(emulator.api)).file_id;
    const expected = domain("One or more file_ids not found in workspace");
    for (const file_ids of [[foreign], [file, foreign], ["4d0b0f5e-8f4b-4f43-9c4e-0a3c5a2f6f10"], ["no-uuid"], [""]]) {
      const body = { title: "Help", workflow_id: 201, file_ids };
      await assertRejected(emulator, () => emulator.api("POST", path, { body }), expected);
    }
  });

  it("rejects unpublished, unknown and foreign workflows with the same error", async (t) => {
    const emulator = await startTestEmulator(t);
    const expected = domain("This workflow has no published version for the workspace");
    for (const workflow_id of [202, 204, 999, -1]) {
      const body = { title: "Help", workflow_id };
      await assertRejected(emulator, () => emulator.api("POST", path, { body }), expected);
    }
  });

  it("rejects a workflow that is not for intakes", async (t) => {
    const emulator = await startTestEmulator(t);
    const body = { title: "Help", workflow_id: 203 };
    const expected = domain("This workflow is not an INTAKE_WORKFLOW");
    await assertRejected(emulator, () => emulator.api("POST", path, { body }), expected);
  });

  it("validates fields, then publication, then workflow kind, then files", async (t) => {
    const { api } = await startTestEmulator(t);
    const getMessage = async (body: object) => {
      const parsed = (await api("POST", path, { body })).body as { message?: string };
      return parsed.message ?? parsed;
    };
    const assignees = [{ entity_id: "99", entity_type: "ORG_USER", assignee_type: "ASSIGNED_TO" }];
    const all = { title: "Help", assignees, workflow_id: 202, file_ids: ["x"] };
    assert.deepEqual(
      [
        await getMessage({ ...all, title: "" }),
        await getMessage(all),
        await getMessage({ ...all, assignees: [] }),
        await getMessage({ ...all, assignees: [], workflow_id: 203 }),
        await getMessage({ ...all, assignees: [], workflow_id: 201 }),
      ],
      [
        { title: ["String should have at least 1 character"] },
        { assignees: { 0: { entity_id: ['Invalid pk "99" - object does not exist.'] } } },
        "This workflow has no published version for the workspace",
        "This workflow is not an INTAKE_WORKFLOW",
        "One or more file_ids not found in workspace",
      ],
    );
  });

  const malformed: [label: string, body: object, fields: unknown][] = [
    ["an empty body", {}, { title: ["Field required"], workflow_id: ["Field required"] }],
    [
      "a title of 256 characters",
      { title: "x".repeat(256), workflow_id: 201 },
      { title: ["String should have at most 255 characters"] },
    ],
    [
      "an unknown priority",
      { title: "Help", workflow_id: 201, priority: "URGENT" },
      { priority: ["Input should be 'LOW', 'MEDIUM' or 'HIGH'"] },
    ],
    [
      "metadata that is not a string",
      { title: "Help", workflow_id: 201, metadata: { a: 1 } },
      { metadata: { a: ["Input should be a valid string"] } },
    ],
    [
      "an assignee without a required field",
      { title: "Help", workflow_id: 201, assignees: [{ entity_type: "ORG_USER", assignee_type: "ASSIGNED_TO" }] },
      { assignees: { 0: { entity_id: ["Field required"] } } },
    ],
    [
      "an assignee of another workspace, a deactivated one and a malformed ID",
      {
        title: "Help",
        workflow_id: 201,
        assignees: ["21", "13", "11", "011"].map((entity_id) => ({
          entity_id,
          entity_type: "ORG_USER",
          assignee_type: "ASSIGNED_TO",
        })),
      },
      {
        assignees: {
          0: { entity_id: ['Invalid pk "21" - object does not exist.'] },
          1: { entity_id: ['Invalid pk "13" - object does not exist.'] },
          3: { entity_id: ['Invalid pk "011" - object does not exist.'] },
        },
      },
    ],
  ];
  for (const [label, body, fields] of malformed) {
    it(`rejects ${label}`, async (t) => {
      const emulator = await startTestEmulator(t);
      await assertRejected(emulator, () => emulator.api("POST", path, { body }), { status: 400, body: fields });
    });
  }
});

describe("intake.show", () => {
  it("returns the created intake", async (t) => {
    const { api } = await startTestEmulator(t);
    const intake = await createIntake(api);
    assert.deepEqual(pickStatusAndBody(await api("GET", `${path}${intake.id}/`)), { status: 200, body: intake });
  });
});

describe("intake.update", () => {
  it("changes the given fields only, and null clears description and due date", async (t) => {
    const { api, control } = await startTestEmulator(t);
    const due_date = "2031-02-01T00:00:00Z";
    const before = await createIntake(api, { description: "d", due_date, metadata: { a: "b" } });
    await control("POST", "clock/advance", { body: { by: "PT1H" } });
    const changed = await api("PATCH", `${path}${before.id}/`, {
      body: { status: "IN_PROGRESS", priority: "LOW", description: null, due_date: null },
    });
    assert.deepEqual(pickStatusAndBody(changed), {
      status: 200,
      body: {
        ...before,
        status: "IN_PROGRESS",
        priority: "LOW",
        description: null,
        due_date: null,
        modified_at: "2031-01-02T04:04:05Z",
      },
    });
    assert.deepEqual((await api("GET", `${path}${before.id}/`)).body, changed.body);

    const people = await api("PATCH", `${path}${before.id}/`, {
      body: { assignees: [{ entity_id: "12", entity_type: "ORG_USER", assignee_type: "ASSIGNED_TO" }] },
    });
    assert.deepEqual((people.body as { assignees: unknown }).assignees, [
      { entity_id: "12", entity_type: "ORG_USER", assignee_type: "ASSIGNED_TO", assignee_org_user: ben },
    ]);
  });

  it("rejects malformed changes", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id } = await createIntake(emulator.api);
    const cases: [body: object, fields: unknown][] = [
      [{ title: null }, { title: ["Input should be a valid string"] }],
      [
        { status: "DONE" },
        { status: ["Input should be 'DRAFT', 'PENDING', 'IN_PROGRESS', 'BLOCKED', 'COMPLETED' or 'DISCARDED'"] },
      ],
      [
        { assignees: [{ entity_id: "99", entity_type: "ORG_USER", assignee_type: "ASSIGNED_TO" }] },
        { assignees: { 0: { entity_id: ['Invalid pk "99" - object does not exist.'] } } },
      ],
    ];
    for (const [body, fields] of cases) {
      const expected = { status: 400, body: fields };
      await assertRejected(emulator, () => emulator.api("PATCH", `${path}${id}/`, { body }), expected);
    }
  });
});

describe("intake.delete", () => {
  it("returns 403, not 404, for unknown, deleted and foreign intakes", async (t) => {
    const emulator = await startTestEmulator(t);
    const mine = await createIntake(emulator.api);
    const otherApi = await createWorkspaceApi(emulator, 2);
    const foreign = await createIntake(otherApi, { workflow_id: 204 });
    assert.deepEqual(pickStatusAndBody(await emulator.api("DELETE", `${path}${mine.id}/`)), { status: 204, body: "" });

    for (const id of [mine.id, foreign.id, 999, "9007199254740993", "9".repeat(400)]) {
      await assertRejected(emulator, () => emulator.api("GET", `${path}${id}/`), forbidden);
      const body = { title: "Mine" };
      await assertRejected(emulator, () => emulator.api("PATCH", `${path}${id}/`, { body }), forbidden);
      await assertRejected(emulator, () => emulator.api("DELETE", `${path}${id}/`), forbidden);
    }
    assert.equal((await otherApi("GET", `${path}${foreign.id}/`)).status, 200);

    // The service has no path with an invalid ID.
    for (const method of ["GET", "PATCH", "DELETE"]) {
      const sent = method === "PATCH" ? { body: { title: "Mine" } } : {};
      await assertRejected(emulator, () => emulator.api(method, `${path}abc/`, sent), notFoundResponse);
    }
  });
});

describe("intake.list", () => {
  const titles = (body: unknown) => (body as { intakes: { title: string }[] }).intakes.map(({ title }) => title);

  async function startWithThree(t: Parameters<typeof startTestEmulator>[0]): Promise<Api> {
    const { api, control } = await startTestEmulator(t);
    await createIntake(api, { title: "b, first", priority: "LOW" });
    await control("POST", "clock/advance", { body: { by: "PT1M" } });
    await createIntake(api, { title: "A second", priority: "HIGH", description: "about PRIVACY" });
    await control("POST", "clock/advance", { body: { by: "PT1M" } });
    const third = await createIntake(api, { title: "c third" });
    await api("PATCH", `${path}${third.id}/`, { body: { status: "COMPLETED" } });
    return api;
  }

  it("lists intakes newest first in pages, without users, tasks and files", async (t) => {
    const api = await startWithThree(t);
    const { body } = await api("GET", `${path}?limit=2`);
    const { intakes, ...page } = body as { intakes: Record<string, unknown>[] };
    assert.deepEqual(page, { total_count: 3, page: 1, limit: 2, total_pages: 2, has_next: true, has_previous: false });
    assert.deepEqual(Object.keys(intakes[0]!).sort(), [
      "created_at",
      "created_by",
      "description",
      "due_date",
      "frozen_workflow",
      "id",
      "metadata",
      "modified_at",
      "priority",
      "public_id",
      "reference_id",
      "status",
      "title",
    ]);
    assert.deepEqual(titles(body), ["c third", "A second"]);
    const { intakes: rest, ...last } = (await api("GET", `${path}?limit=2&page=2`)).body as { intakes: unknown[] };
    assert.deepEqual(titles({ intakes: rest }), ["b, first"]);
    assert.deepEqual(last, { ...page, page: 2, has_next: false, has_previous: true });
    assert.deepEqual(titles((await api("GET", `${path}?page=9`)).body), []);
  });

  const queries: [query: string, found: string[]][] = [
    ["query=privacy", ["A second"]],
    ["query=i-0001", ["b, first"]],
    ["query=nothing", []],
    ["filter__priority=HIGH", ["A second"]],
    ["filter__priority[$eq]=LOW", ["b, first"]],
    ["filter__priority[$ne]=HIGH", ["c third", "b, first"]],
    ["filter__priority[$in]=HIGH,LOW", ["A second", "b, first"]],
    ["filter__status=COMPLETED", ["c third"]],
    ["filter__status[$ne]=COMPLETED&filter__priority[$in]=LOW", ["b, first"]],
    ["sort=title", ["A second", "b, first", "c third"]],
    ["sort=-title", ["c third", "b, first", "A second"]],
    ["sort=%2Bcreated_at", ["b, first", "A second", "c third"]],
    ["sort=+created_at", ["b, first", "A second", "c third"]],
    ["sort=-priority", ["A second", "c third", "b, first"]],
    ["sort=status", ["c third", "A second", "b, first"]],
  ];
  for (const [query, expectedTitles] of queries) {
    it(`finds ${expectedTitles.length} intakes by ${query}`, async (t) => {
      const api = await startWithThree(t);
      assert.deepEqual(titles((await api("GET", `${path}?${query}`)).body), expectedTitles);
    });
  }

  it("rejects an unknown sort field and invalid pages", async (t) => {
    const { api } = await startTestEmulator(t);
    for (const sort of ["size", "toString", "-", "--title", "%0A"]) {
      assert.deepEqual(pickStatusAndBody(await api("GET", `${path}?sort=${sort}`)), {
        status: 400,
        body: { detail: "Invalid sort field" },
      });
    }
    assert.deepEqual(pickStatusAndBody(await api("GET", `${path}?limit=101&page=0`)), {
      status: 400,
      body: {
        page: ["Input should be greater than or equal to 1"],
        limit: ["Input should be less than or equal to 100"],
      },
    });
  });

  it("rejects an unknown value in a list of a filter", async (t) => {
    const { api } = await startTestEmulator(t);
    assert.deepEqual(pickStatusAndBody(await api("GET", `${path}?filter__priority[$in]=LOW,URGENT`)), {
      status: 400,
      body: { "filter__priority[$in]": ["Value should be one of LOW, MEDIUM, HIGH"] },
    });
  });

  it("omits deleted intakes and those of other workspaces", async (t) => {
    const emulator = await startTestEmulator(t);
    await createIntake(emulator.api, { title: "mine" });
    const deletedIntake = await createIntake(emulator.api, { title: "gone" });
    await createIntake(await createWorkspaceApi(emulator, 2), { title: "theirs", workflow_id: 204 });
    await emulator.api("DELETE", `${path}${deletedIntake.id}/`);
    assert.deepEqual(titles((await emulator.api("GET", path)).body), ["mine"]);
  });
});
