import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { listActivityNames, subscribe } from "../../../support/delivered-events.ts";
import { pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";
import { assertRejected, notFoundResponse } from "../../../support/rejections.ts";

const counterpartiesPath = "/api/v2.1/public/counter_parties/";
const getCounterpartyPath = (id: number) => `${counterpartiesPath}${id}`;

const acme = { is_individual: false, organization_name: "Acme Corp" };
const office = { line_one: "2 High Street", city_name: "Leeds", country_name: "United Kingdom" };
const list = (...results: unknown[]) => ({ page: 1, limit: 10, total_results: results.length, results });

describe("counterparty-contacts API", () => {
  const contacts = `${getCounterpartyPath(1)}/contacts`;
  const jo = { name: "Jo Diaz", email: "jo@acme.example" };
  const kim = { name: "Kim Lee", email: "kim@acme.example" };

  it("creates, updates and deletes contacts, one of which is always primary", async (t) => {
    const emulator = await startTestEmulator(t);
    await emulator.api("POST", counterpartiesPath, { body: acme });
    const readPayloads = await subscribe(t, emulator, [
      "COUNTER_PARTY_CONTACT_CREATED",
      "COUNTER_PARTY_CONTACT_UPDATED",
    ]);

    // The first contact is primary, even if the request does not specify it.
    const first = { id: 1, ...jo, is_primary: true };
    assert.deepEqual(pickStatusAndBody(await emulator.api("POST", contacts, { body: jo })), {
      status: 201,
      body: first,
    });
    const second = { id: 2, ...kim, is_primary: true };
    assert.deepEqual(pickStatusAndBody(await emulator.api("POST", contacts, { body: { ...kim, is_primary: true } })), {
      status: 201,
      body: second,
    });
    assert.deepEqual((await emulator.api("GET", contacts)).body, list({ ...first, is_primary: false }, second));

    const renamed = await emulator.api("PATCH", `${contacts}/1/`, { body: { name: "Jo Díaz" } });
    assert.deepEqual(pickStatusAndBody(renamed), {
      status: 200,
      body: { id: 1, ...jo, name: "Jo Díaz", is_primary: false },
    });

    const many = await emulator.api("PATCH", `${contacts}/bulk/`, {
      body: {
        contacts: [
          { id: 1, is_primary: true },
          { id: 2, email: "kl@acme.example" },
        ],
      },
    });
    const both = [
      { id: 1, ...jo, name: "Jo Díaz", is_primary: true },
      { id: 2, ...kim, email: "kl@acme.example", is_primary: false },
    ];
    assert.deepEqual(pickStatusAndBody(many), { status: 200, body: both });
    assert.deepEqual((await emulator.api("GET", contacts)).body, list(...both));

    assert.deepEqual(pickStatusAndBody(await emulator.api("DELETE", `${contacts}/1/`)), { status: 204, body: "" });
    assert.deepEqual((await emulator.api("GET", contacts)).body, list({ ...both[1], is_primary: true }));
    await emulator.api("POST", contacts, { body: jo });
    assert.equal((await emulator.api("DELETE", `${contacts}/3/`)).status, 204);
    assert.deepEqual((await emulator.api("GET", contacts)).body, list({ ...both[1], is_primary: true }));
    assert.deepEqual(listActivityNames(await readPayloads()), [
      "COUNTER_PARTY_CONTACT_CREATED",
      "COUNTER_PARTY_CONTACT_CREATED",
      "COUNTER_PARTY_CONTACT_UPDATED",
      "COUNTER_PARTY_CONTACT_UPDATED",
      "COUNTER_PARTY_CONTACT_UPDATED",
      "COUNTER_PARTY_CONTACT_CREATED",
    ]);
  });

  it("rejects malformed data and unknown contacts", async (t) => {
    const emulator = await startTestEmulator(t);
    await emulator.api("POST", counterpartiesPath, {
      body: { ...acme, contact_name: jo.name, contact_email: jo.email },
    });
    await assertRejected(emulator, () => emulator.api("POST", contacts, { body: {} }), {
      status: 400,
      body: { name: ["Field required"], email: ["Field required"] },
    });
    const unknownContact = {
      contacts: [
        { id: 1, name: "X" },
        { id: 9, name: "Y" },
      ],
    };
    await assertRejected(emulator, () => emulator.api("PATCH", `${contacts}/bulk/`, { body: unknownContact }), {
      status: 400,
      body: { contacts: { 1: { id: ['Invalid pk "9" - object does not exist.'] } } },
    });
    const fiftyOne = { contacts: Array.from({ length: 51 }, () => ({ id: 1 })) };
    await assertRejected(emulator, () => emulator.api("PATCH", `${contacts}/bulk/`, { body: fiftyOne }), {
      status: 400,
      body: { contacts: ["List should have at most 50 items after validation, not 51"] },
    });
    await assertRejected(
      emulator,
      () => emulator.api("PATCH", `${contacts}/9/`, { body: { name: "X" } }),
      notFoundResponse,
    );
    await assertRejected(emulator, () => emulator.api("DELETE", `${contacts}/9/`), notFoundResponse);
  });
});

describe("counterparty-addresses API", () => {
  const addresses = `${getCounterpartyPath(1)}/addresses/`;

  it("creates and updates addresses, and shows the primary one with the counterparty", async (t) => {
    const emulator = await startTestEmulator(t);
    await emulator.api("POST", counterpartiesPath, { body: acme });
    const readPayloads = await subscribe(t, emulator, [
      "COUNTER_PARTY_ADDRESS_CREATED",
      "COUNTER_PARTY_ADDRESS_UPDATED",
    ]);
    const first = { id: 1, ...office, state_name: "", zipcode: "" };
    assert.deepEqual(pickStatusAndBody(await emulator.api("POST", addresses, { body: office })), {
      status: 201,
      body: first,
    });
    const second = { id: 2, ...office, line_one: "3 High Street", state_name: "", zipcode: "", email: "a@b.example" };
    assert.deepEqual(
      pickStatusAndBody(
        await emulator.api("POST", addresses, { body: { ...office, line_one: "3 High Street", email: "a@b.example" } }),
      ),
      { status: 201, body: second },
    );
    assert.deepEqual((await emulator.api("GET", addresses)).body, list(first, second));

    const changed = { ...second, country_name: "Germany" };
    const response = await emulator.api("PATCH", `${addresses}2/`, {
      body: { country_iso_code: "DE", is_primary: true },
    });
    assert.deepEqual(pickStatusAndBody(response), { status: 200, body: changed });
    const { body } = await emulator.api("GET", getCounterpartyPath(1));
    assert.deepEqual((body as { primary_address: unknown }).primary_address, changed);
    assert.deepEqual(listActivityNames(await readPayloads()), [
      "COUNTER_PARTY_ADDRESS_CREATED",
      "COUNTER_PARTY_ADDRESS_CREATED",
      "COUNTER_PARTY_ADDRESS_UPDATED",
    ]);
  });

  it("rejects malformed data and unknown addresses", async (t) => {
    const emulator = await startTestEmulator(t);
    await emulator.api("POST", counterpartiesPath, { body: { ...acme, primary_address: office } });
    const required = ["Field required"];
    await assertRejected(emulator, () => emulator.api("POST", addresses, { body: {} }), {
      status: 400,
      body: { line_one: required, city_name: required, country_name: required },
    });
    await assertRejected(
      emulator,
      () => emulator.api("PATCH", `${addresses}1/`, { body: { country_iso_code: "XX" } }),
      { status: 400, body: { country_iso_code: ["Value should be one of DE, US, IN"] } },
    );
    await assertRejected(
      emulator,
      () => emulator.api("PATCH", `${addresses}9/`, { body: { line_one: "x" } }),
      notFoundResponse,
    );
  });
});
