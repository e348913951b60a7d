import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createDraftContract, createPdfBase64 } from "../../../support/contracts.ts";
import { type DeliveredEvent, listActivityNames, subscribe } from "../../../support/delivered-events.ts";
import { pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";
import { assertRejected, notFoundResponse } from "../../../support/rejections.ts";
import { createWorkspaceApi } from "../../../support/workspace-api.ts";

const counterpartiesPath = "/api/v2.1/public/counter_parties/";
const getCounterpartyPath = (id: number) => `${counterpartiesPath}${id}`;

const acme = { is_individual: false, organization_name: "Acme Corp" };
const office = { line_one: "2 High Street", city_name: "Leeds", country_name: "United Kingdom" };
const list = (...results: unknown[]) => ({ page: 1, limit: 10, total_results: results.length, results });

describe("counterparties.create", () => {
  it("stores an organization with its contact and address, and emits all three", async (t) => {
    const emulator = await startTestEmulator(t);
    const readPayloads = await subscribe(t, emulator, [
      "COUNTER_PARTY_CREATED",
      "COUNTER_PARTY_CONTACT_CREATED",
      "COUNTER_PARTY_ADDRESS_CREATED",
    ]);
    const response = await emulator.api("POST", counterpartiesPath, {
      body: {
        ...acme,
        organization_type: "Corporation",
        contact_name: "Jo Diaz",
        contact_email: "jo@acme.example",
        brand_name: "ACME",
        primary_address: { ...office, phone: "123" },
        custom_fields: { vendor_id: 7 },
      },
    });
    const record = {
      id: 1,
      name: "Acme Corp",
      is_individual: false,
      contacts: [{ id: 1, name: "Jo Diaz", email: "jo@acme.example" }],
      primary_address: { id: 1, ...office, state_name: "", zipcode: "", phone: "123" },
      status: "ACTIVE",
      custom_fields: { vendor_id: 7 },
      brand_name: "ACME",
    };
    assert.deepEqual(pickStatusAndBody(response), { status: 201, body: record });
    assert.deepEqual(pickStatusAndBody(await emulator.api("GET", getCounterpartyPath(1))), {
      status: 200,
      body: record,
    });

    const performer = { performed_by: { name: "Ada Keller", email: "ada@northwind.example" } };
    const timestamp = "2031-01-02T03:04:05.000000Z";
    // Contract keys are absent without a contract.
    assert.deepEqual(await readPayloads(), [
      { activity: "COUNTER_PARTY_CREATED", activity_data: { ...performer, timestamp, counterparty_id: 1 } },
      {
        activity: "COUNTER_PARTY_CONTACT_CREATED",
        activity_data: { ...performer, timestamp, counterparty_id: 1, contact_id: 1 },
      },
      {
        activity: "COUNTER_PARTY_ADDRESS_CREATED",
        activity_data: { ...performer, timestamp, counterparty_id: 1, address_id: 1 },
      },
    ]);
  });

  it("stores an individual under the individual's name", async (t) => {
    const { api } = await startTestEmulator(t);
    const response = await api("POST", counterpartiesPath, {
      body: { is_individual: true, contact_name: "Kim Lee", contact_email: "kim@lee.example" },
    });
    assert.deepEqual(pickStatusAndBody(response), {
      status: 201,
      body: {
        id: 1,
        name: "Kim Lee",
        is_individual: true,
        contacts: [{ id: 1, name: "Kim Lee", email: "kim@lee.example" }],
        status: "ACTIVE",
        custom_fields: {},
      },
    });
  });

  const required = ["Field required"];
  const malformed: [label: string, body: object, fields: unknown][] = [
    ["an empty body", {}, { is_individual: required }],
    ["an organization without a name", { is_individual: false }, { organization_name: required }],
    ["a person without contact", { is_individual: true }, { contact_name: required, contact_email: required }],
    ["an incomplete contact", { ...acme, contact_name: "Jo" }, { contact_email: required }],
    [
      "an unknown label",
      { ...acme, organization_type: "Guild" },
      { organization_type: ["Value should be one of Private Limited Company, Corporation, Partnership"] },
    ],
    [
      "an incomplete address",
      { ...acme, primary_address: { line_one: "x" } },
      { primary_address: { city_name: required, country_name: required } },
    ],
  ];
  for (const [label, body, fields] of malformed) {
    it(`rejects ${label}`, async (t) => {
      const emulator = await startTestEmulator(t);
      await assertRejected(emulator, () => emulator.api("POST", counterpartiesPath, { body }), {
        status: 400,
        body: fields,
      });
    });
  }
});

describe("counterparty activities of a contract", () => {
  const activities = [
    "COUNTER_PARTY_CREATED",
    "COUNTER_PARTY_CONTACT_CREATED",
    "COUNTER_PARTY_ADDRESS_CREATED",
    "CONTRACT_CREATED",
  ] as const;
  const poc = { first_name: "Jo", last_name: "Diaz", email: "jo@acme.example" };
  const address = { line_one: "2 High Street", line_two: "Floor 3", city: "Munich", country_iso_code: "DE" };
  const party = {
    ...acme,
    poc_details: poc,
    organization_details: { jurisdiction_iso_code: "DE", address: { ...address, phone: "123" } },
  };
  const summarize = (all: readonly DeliveredEvent[]) =>
    all.map(({ activity, contract_id, activity_data: { counterparty_id, contact_id, address_id } }) =>
      [activity, contract_id ?? counterparty_id, contact_id ?? address_id].filter((each) => each !== undefined),
    );

  it("emits new counterparties of a template contract before the contract, with their addresses", async (t) => {
    const emulator = await startTestEmulator(t);
    const next = await subscribe(t, emulator, activities);
    const otherContract = { is_individual: true, poc_details: { ...poc, email: "kim@lee.example" } };
    await createDraftContract(emulator.api, { counter_party_details: [party, otherContract] });
    assert.deepEqual(summarize(await next()), [
      ["COUNTER_PARTY_CREATED", 1],
      ["COUNTER_PARTY_CONTACT_CREATED", 1, 1],
      ["COUNTER_PARTY_ADDRESS_CREATED", 1, 1],
      ["COUNTER_PARTY_CREATED", 2],
      ["COUNTER_PARTY_CONTACT_CREATED", 2, 2],
      ["CONTRACT_CREATED", 1],
    ]);
    const { body } = await emulator.api("GET", getCounterpartyPath(1));
    assert.deepEqual((body as { primary_address: object }).primary_address, {
      id: 1,
      line_one: "2 High Street, Floor 3",
      city_name: "Munich",
      state_name: "",
      zipcode: "",
      country_name: "Germany",
      phone: "123",
    });
    // The second request emits only new data, with the contract of the counterparty.
    await createDraftContract(emulator.api, {
      counter_party_details: [{ ...party, poc_details: { ...poc, email: "al@acme.example" } }],
    });
    const [contact, ...rest] = await next();
    assert.deepEqual(
      [contact?.activity, contact?.contract_id, contact?.activity_data.contact_id],
      ["COUNTER_PARTY_CONTACT_CREATED", 1, 3],
    );
    assert.deepEqual(summarize(rest), [["CONTRACT_CREATED", 2]]);
  });

  it("emits new counterparties of an import and of third-party paper", async (t) => {
    const emulator = await startTestEmulator(t);
    const next = await subscribe(t, emulator, activities);
    const file = {
      file_name: "a.pdf",
      file_base64: await createPdfBase64(),
      contract_type_id: 301,
      contract_name: "Paper",
    };
    const organization = { counterparty_organization_name: "Acme Corp", counterparty_poc_details: poc };
    const paths = ["executed_contracts/", "upload_review_contracts/", "upload_sign_contracts/"];
    for (const [i, path] of paths.entries()) {
      const body = {
        ...file,
        ...organization,
        counterparty_organization_name: `Acme ${i + 1}`,
        ...(i === 0 && { creator_organization_entity_id: 401 }),
        ...(i === 2 && {
          creator_signatories: [{ email: "ada@northwind.example" }],
          intake_form_data: { purpose: "x" },
        }),
      };
      const response = await emulator.api("POST", `/api/v2.1/public/contracts/${path}`, { body });
      assert.equal(response.status, 201, JSON.stringify(response.body));
      assert.deepEqual(summarize(await next()), [
        ["COUNTER_PARTY_CREATED", i + 1],
        ["COUNTER_PARTY_CONTACT_CREATED", i + 1, i + 1],
        ["CONTRACT_CREATED", i + 1],
      ]);
    }
  });
});

describe("counterparties.list, counterparties.show and counterparties.update", () => {
  it("lists a page, filtered by contact or custom field", async (t) => {
    const { api } = await startTestEmulator(t);
    const ids = async (query: string) => {
      const { body } = await api("GET", `${counterpartiesPath}${query}`);
      const { results, ...page } = body as { results: { id: number }[] };
      return { ...page, ids: results.map(({ id }) => id) };
    };
    await api("POST", counterpartiesPath, { body: { ...acme, custom_fields: { vendor_id: 7 } } });
    await api("POST", counterpartiesPath, {
      body: { is_individual: true, contact_name: "Kim Lee", contact_email: "kim@lee.example" },
    });
    await api("POST", counterpartiesPath, { body: { ...acme, organization_name: "Beta" } });
    assert.deepEqual(await ids(""), { page: 1, limit: 10, total_results: 3, ids: [1, 2, 3] });
    assert.deepEqual(await ids("?limit=2&page=2"), { page: 2, limit: 2, total_results: 3, ids: [3] });
    const pagination = { page: 1, limit: 10, total_results: 1 };
    assert.deepEqual(await ids("?filter__client_email_address=KIM@lee.example"), { ...pagination, ids: [2] });
    assert.deepEqual(await ids("?filter_custom__vendor_id=7"), { ...pagination, ids: [1] });
    // A missing field does not match the value "undefined".
    assert.deepEqual(await ids("?filter_custom__nothing=undefined"), { ...pagination, total_results: 0, ids: [] });
  });

  it("updates the given fields only and emits the change", async (t) => {
    const emulator = await startTestEmulator(t);
    await emulator.api("POST", counterpartiesPath, {
      body: { ...acme, brand_name: "ACME", custom_fields: { a: 1, b: 2 } },
    });
    const readPayloads = await subscribe(t, emulator, ["COUNTER_PARTY_UPDATED"]);
    const response = await emulator.api("PATCH", getCounterpartyPath(1), {
      body: { name: "Acme Inc.", custom_fields: { b: 3 } },
    });
    const record = {
      id: 1,
      name: "Acme Inc.",
      is_individual: false,
      contacts: [],
      status: "ACTIVE",
      custom_fields: { a: 1, b: 3 },
      brand_name: "ACME",
    };
    assert.deepEqual(pickStatusAndBody(response), { status: 200, body: record });
    assert.deepEqual((await emulator.api("GET", getCounterpartyPath(1))).body, record);
    assert.deepEqual(listActivityNames(await readPayloads()), ["COUNTER_PARTY_UPDATED"]);
  });

  it("rejects a counterparty of another workspace", async (t) => {
    const emulator = await startTestEmulator(t);
    await (await createWorkspaceApi(emulator, 2))("POST", counterpartiesPath, { body: acme });
    assert.deepEqual((await emulator.api("GET", counterpartiesPath)).body, list());
    await assertRejected(emulator, () => emulator.api("PATCH", getCounterpartyPath(1), { body: { name: "" } }), {
      status: 400,
      body: { name: ["String should have at least 1 character"] },
    });
  });
});

describe("counterparty of another workspace", () => {
  const jo = { name: "Jo Diaz", email: "jo@acme.example" };
  const calls: [operation: string, method: string, path: (id: number) => string, body?: object][] = [
    ["counterparties.show", "GET", getCounterpartyPath],
    ["counterparties.update", "PATCH", getCounterpartyPath, { name: "Mine" }],
    ["counterparty-contacts.list", "GET", (id) => `${getCounterpartyPath(id)}/contacts`],
    ["counterparty-contacts.create", "POST", (id) => `${getCounterpartyPath(id)}/contacts`, jo],
    [
      "counterparty-contacts.update-many",
      "PATCH",
      (id) => `${getCounterpartyPath(id)}/contacts/bulk/`,
      { contacts: [{ id: 1 }] },
    ],
    ["counterparty-contacts.update", "PATCH", (id) => `${getCounterpartyPath(id)}/contacts/1/`, jo],
    ["counterparty-contacts.delete", "DELETE", (id) => `${getCounterpartyPath(id)}/contacts/1/`],
    ["counterparty-addresses.list", "GET", (id) => `${getCounterpartyPath(id)}/addresses/`],
    ["counterparty-addresses.create", "POST", (id) => `${getCounterpartyPath(id)}/addresses/`, office],
    ["counterparty-addresses.update", "PATCH", (id) => `${getCounterpartyPath(id)}/addresses/1/`, { line_one: "Mine" }],
  ];
  for (const [operation, method, path, body] of calls) {
    it(`returns 404 from ${operation}`, async (t) => {
      const emulator = await startTestEmulator(t);
      await (await createWorkspaceApi(emulator, 2))("POST", counterpartiesPath, {
        body: { ...acme, contact_name: jo.name, contact_email: jo.email, primary_address: office },
      });
      for (const id of [1, 99])
        await assertRejected(emulator, () => emulator.api(method, path(id), { body }), notFoundResponse);
    });
  }
});
