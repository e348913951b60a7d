import assert from "node:assert/strict";
import { describe, it } from "node:test";
import demo from "../../../../fixtures/seeds/demo.json" with { type: "json" };
import { pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";
import { assertRejected, notFoundResponse } from "../../../support/rejections.ts";

const base = "/api/v2.1/public";

/** The demo seed with more attributes that distinguish templates. */
const manyTemplates = {
  ...demo,
  templates: [
    { id: 101, workspace_id: 1, name: "A", contract_type_id: 301, tags: ["sales", "eu"] },
    { id: 102, workspace_id: 1, name: "B", contract_type_id: 302, tags: ["sales"], counter_party_kind: "Individual" },
    { id: 104, workspace_id: 1, name: "C", contract_type_id: 302, counter_party_kind: "Organisation" },
    { id: 105, workspace_id: 1, name: "D", contract_type_id: 301, archived: true },
    { id: 103, workspace_id: 2, name: "E", contract_type_id: 304 },
  ],
};

describe("templates.list", () => {
  it("lists templates of the workspace by tags, counterparty kind and archive status", async (t) => {
    const { api } = await startTestEmulator(t, { seed: manyTemplates });
    const search = async (query: string) => {
      const { status, body } = await api("GET", `${base}/templates/${query}`);
      assert.equal(status, 200, JSON.stringify(body));
      return (body as { items: { id: number }[] }).items.map(({ id }) => id);
    };
    const expected: Record<string, number[]> = {
      "": [101, 102, 104],
      "?include_archived=true": [101, 102, 104, 105],
      "?tags=sales": [101, 102],
      "?tags=eu&tags=nothing": [101],
      "?tags_all=sales&tags_all=eu": [101],
      "?cp_types=Individual": [101, 102],
      "?cp_types=Individual&cp_types=Organisation": [101, 102, 104],
      "?cp_types=Individual&cp_types=Organisation&cp_types_all=true": [101],
      "?exclude_multi_party=true": [101, 102, 104],
    };
    const actual: Record<string, number[]> = {};
    for (const query of Object.keys(expected)) actual[query] = await search(query);
    assert.deepEqual(actual, expected);
    assert.deepEqual(pickStatusAndBody(await api("GET", `${base}/templates/?cp_types=Robot`)), {
      status: 400,
      body: { cp_types: { 0: ["Input should be 'Organisation' or 'Individual'"] } },
    });
  });
});

describe("templates.update", () => {
  it("replaces the tags that templates.show returns", async (t) => {
    const emulator = await startTestEmulator(t);
    const nda = { id: 101, name: "Mutual NDA", contract_type_id: 301, tags: [] };
    assert.deepEqual(pickStatusAndBody(await emulator.api("GET", `${base}/templates/101/`)), {
      status: 200,
      body: nda,
    });
    const tagged = { ...nda, tags: ["sales", "eu"] };
    const response = await emulator.api("PATCH", `${base}/templates/101/`, {
      body: { tags: ["sales", "eu", "sales"] },
    });
    assert.deepEqual(pickStatusAndBody(response), { status: 200, body: tagged });
    assert.deepEqual((await emulator.api("GET", `${base}/templates/101/`)).body, tagged);
    assert.deepEqual((await emulator.api("PATCH", `${base}/templates/101/`, { body: {} })).body, tagged);
    await assertRejected(emulator, () => emulator.api("PATCH", `${base}/templates/101/`, { body: { tags: [""] } }), {
      status: 400,
      body: { tags: { 0: ["String should have at least 1 character"] } },
    });
  });
});

describe("templates.metadata", () => {
  it("returns the contract_data that a template requires", async (t) => {
    const { api } = await startTestEmulator(t);
    const none = { attributes: [], counter_party_kind: "Both" };
    assert.deepEqual(pickStatusAndBody(await api("GET", `${base}/templates/101/metadata`)), {
      status: 200,
      body: none,
    });
    assert.deepEqual(pickStatusAndBody(await api("GET", `${base}/templates/102/metadata`)), {
      status: 200,
      body: {
        attributes: [
          { display_label: "Start date", variable: "start_date", type: "date", required: true },
          { display_label: "Seats", variable: "seats", type: "int", required: true },
          {
            display_label: "Plan",
            variable: "plan",
            type: "enum",
            options: [
              { label: "Basic", value: "basic" },
              { label: "Plus", value: "plus" },
            ],
            required: false,
          },
        ],
        counter_party_kind: "Both",
      },
    });
  });

  it("returns the help and the default of a question", async (t) => {
    const question = { variable: "months", display_label: "Months", type: "int", required: true };
    const attributes = [{ ...question, help_text: "At least 6", default_value: 12 }];
    const templates = [{ ...manyTemplates.templates[0]!, attributes }];
    const { api } = await startTestEmulator(t, { seed: { ...demo, templates } });
    const { body } = await api("GET", `${base}/templates/101/metadata`);
    assert.deepEqual(body, { attributes, counter_party_kind: "Both" });
  });
});

describe("template or contract type of another workspace", () => {
  const reads: [operation: string, method: string, path: (id: string) => string, foreign: string, body?: object][] = [
    ["templates.show", "GET", (id) => `/templates/${id}/`, "103"],
    ["templates.metadata", "GET", (id) => `/templates/${id}/metadata`, "103"],
    ["templates.update", "PATCH", (id) => `/templates/${id}/`, "103", { tags: [] }],
    ["contract-types.entities", "GET", (id) => `/contract_types/${id}/entities`, "304"],
    ["contract-types.intake-form", "GET", (id) => `/contract_types/${id}/intake_form/questionnaire/`, "304"],
  ];
  for (const [operation, method, path, foreign, body] of reads) {
    it(`returns the error of an invalid ID from ${operation}`, async (t) => {
      const emulator = await startTestEmulator(t);
      for (const id of [foreign, "999", "abc"]) {
        await assertRejected(emulator, () => emulator.api(method, `${base}${path(id)}`, { body }), notFoundResponse);
      }
    });
  }
});

describe("contract-types.list", () => {
  it("lists contract types with signing entities and form questions", async (t) => {
    const { api } = await startTestEmulator(t);
    assert.deepEqual(pickStatusAndBody(await api("GET", `${base}/contract_types/`)), {
      status: 200,
      body: [
        { id: 301, name: "NDA" },
        { id: 302, name: "Vendor Agreement" },
        { id: 303, name: "Order Form" },
      ],
    });
    assert.deepEqual(pickStatusAndBody(await api("GET", `${base}/contract_types/301/entities`)), {
      status: 200,
      body: [
        {
          entity_id: 401,
          entity_name: "Northwind GmbH",
          entity_type: "Private Limited Company",
          jurisdiction_of_incorporation: "Germany",
          address: {
            line_one: "Unter den Linden 1",
            city: "Berlin",
            state: "Berlin",
            country: "Germany",
            zipcode: "10117",
          },
          is_primary: true,
        },
        {
          entity_id: 402,
          entity_name: "Northwind Inc.",
          entity_type: "Corporation",
          jurisdiction_of_incorporation: "United States",
          address: {
            line_one: "1 Main Street",
            city: "Boston",
            state: "MA",
            country: "United States",
            zipcode: "02108",
          },
          is_primary: false,
        },
      ],
    });
    assert.deepEqual(pickStatusAndBody(await api("GET", `${base}/contract_types/301/intake_form/questionnaire/`)), {
      status: 200,
      body: [
        { display_label: "Purpose", variable: "purpose", type: "string", required: true },
        { display_label: "Contract value", variable: "value", type: "float", required: false },
      ],
    });
  });
});

const germany = { id: 1, name: "Germany", code2: "DE" };
const states = { id: 2, name: "United States", code2: "US" };

describe("organizations.entities", () => {
  it("lists entities of the workspace", async (t) => {
    const { api } = await startTestEmulator(t);
    assert.deepEqual(pickStatusAndBody(await api("GET", `${base}/organizations/entities/`)), {
      status: 200,
      body: [
        {
          id: 401,
          name: "Northwind GmbH",
          reference_id: "NW-DE",
          jurisdiction: germany,
          organization_type: { id: 1, name: "Private Limited Company" },
          primary_address: {
            id: 401,
            line_one: "Unter den Linden 1",
            city_name: "Berlin",
            state_name: "Berlin",
            zipcode: "10117",
            country: germany,
          },
          is_primary: true,
        },
        {
          id: 402,
          name: "Northwind Inc.",
          reference_id: "NW-US",
          jurisdiction: states,
          organization_type: { id: 2, name: "Corporation" },
          primary_address: {
            id: 402,
            line_one: "1 Main Street",
            city_name: "Boston",
            state_name: "MA",
            zipcode: "02108",
            country: states,
          },
          is_primary: false,
        },
      ],
    });
  });
});

describe("organizations.types", () => {
  it("lists organization types of the workspace by jurisdiction", async (t) => {
    const workspaces = demo.workspaces.map((workspace) =>
      workspace.id === 1
        ? {
            ...workspace,
            organization_types: [
              { id: 1, name: "GmbH", jurisdiction: "DE" },
              { id: 2, name: "LLC", jurisdiction: "United States" },
              { id: 3, name: "Partnership" },
            ],
          }
        : workspace,
    );
    const emulator = await startTestEmulator(t, { seed: { ...demo, workspaces } });
    const gmbh = { id: 1, name: "GmbH", jurisdiction: germany };
    const llc = { id: 2, name: "LLC", jurisdiction: states };
    const partnership = { id: 3, name: "Partnership" };
    const types = async (query: string) => (await emulator.api("GET", `${base}/organizations/types/${query}`)).body;
    assert.deepEqual(await types(""), [gmbh, llc, partnership]);
    assert.deepEqual(await types("?jurisdiction_iso_code=DE"), [gmbh, partnership]);
    assert.deepEqual(await types("?jurisdiction_iso_code=us"), [llc, partnership]);

    const message = "Jurisdiction XX is not configured in the workspace.";
    await assertRejected(emulator, () => emulator.api("GET", `${base}/organizations/types/?jurisdiction_iso_code=XX`), {
      status: 400,
      body: { detail: message, status_code: 400, code: "SVC_ASSUMED_203", message },
    });
  });
});

describe("users.list", () => {
  const ada = {
    id: 11,
    email: "ada@northwind.example",
    name: "Ada Keller",
    designation: "General Counsel",
    roles: [{ id: 1, name: "Legal" }],
    is_active: true,
  };
  const cleo = { id: 13, email: "cleo@northwind.example", name: "Cleo Martin", roles: [], is_active: false };

  it("lists active and deactivated users with roles, by part of name or address", async (t) => {
    const { api } = await startTestEmulator(t);
    const { body } = await api("GET", `${base}/auth/users/`);
    const { results, ...page } = body as { results: { id: number }[] };
    assert.deepEqual(page, { page: 1, limit: 10, total_results: 3 });
    assert.deepEqual(
      results.map(({ id }) => id),
      [11, 12, 13],
    );
    const pagination = { page: 1, limit: 10, total_results: 1 };
    assert.deepEqual(pickStatusAndBody(await api("GET", `${base}/auth/users/?user_email=ADA@`)), {
      status: 200,
      body: { ...pagination, results: [ada] },
    });
    assert.deepEqual((await api("GET", `${base}/auth/users/?user_name=martin`)).body, {
      ...pagination,
      results: [cleo],
    });
    assert.deepEqual(pickStatusAndBody(await api("GET", `${base}/auth/users/?limit=1000`)), {
      status: 400,
      body: { limit: ["Input should be less than or equal to 100"] },
    });
  });
});

describe("users.roles", () => {
  it("lists roles of the workspace", async (t) => {
    const { api } = await startTestEmulator(t);
    assert.deepEqual(pickStatusAndBody(await api("GET", `${base}/auth/roles/`)), {
      status: 200,
      body: {
        active_roles: [
          { id: 1, name: "Legal" },
          { id: 2, name: "Reviewer" },
        ],
      },
    });
  });
});
