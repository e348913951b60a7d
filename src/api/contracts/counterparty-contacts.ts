import * as z from "zod";
import { defineOperation, empty, json } from "../operation.ts";
import { contractOperation, publicOperation } from "../services.ts";
import { email } from "../shapes.ts";
import { Address, AddressRequest, counterpartyParams } from "./counterparties.ts";
import { defineContractPage, paging } from "./shapes.ts";

export const Contact = z.strictObject({ id: z.int(), name: z.string(), email: z.string(), is_primary: z.boolean() });

const fields = {
  name: z.string().min(1).describe("Name of the person"),
  email: email.describe("E-mail address of the person"),
  is_primary: z.boolean().describe("Make it the primary contact"),
};
const changes = z.object(fields).partial();

const contactParams = counterpartyParams.extend({ contact_id: z.int().describe("ID of the contact") });

export const listContacts = defineOperation({
  id: "counterparty-contacts.list",
  ...publicOperation,
  summary: "List the contacts of a counterparty",
  path: "/api/v2.1/public/counter_parties/{counter_party_id}/contacts",
  request: { params: counterpartyParams, query: z.object(paging) },
  responses: { 200: json(defineContractPage(Contact)) },
  failures: ["not-found"],
  cli: { command: "contracts contacts list", rows: "results", columns: ["id", "name", "email", "is_primary"] },
  examples: [{ title: "List the contacts of a counterparty", params: { counter_party_id: 1 } }],
});

export const createContact = defineOperation({
  id: "counterparty-contacts.create",
  ...publicOperation,
  summary: "Add a contact to a counterparty",
  method: "POST",
  path: "/api/v2.1/public/counter_parties/{counter_party_id}/contacts",
  request: {
    params: counterpartyParams,
    body: json(z.object({ ...fields, is_primary: fields.is_primary.default(false) })),
  },
  responses: { 201: json(Contact) },
  failures: ["not-found"],
  emits: ["COUNTER_PARTY_CONTACT_CREATED"],
  cli: { command: "contracts contacts create" },
  examples: [
    { title: "Add a contact", params: { counter_party_id: 1 }, body: { name: "Jo Diaz", email: "jo@acme.example" } },
  ],
});

export const updateContacts = defineOperation({
  id: "counterparty-contacts.update-many",
  ...contractOperation,
  summary: "Change several contacts of a counterparty",
  method: "PATCH",
  path: "/api/v2.1/public/counter_parties/{counter_party_id}/contacts/bulk/",
  request: {
    params: counterpartyParams,
    body: json(
      z.object({
        contacts: z
          .array(z.object({ id: z.int(), ...changes.shape }))
          .min(1)
          .max(50),
      }),
    ),
  },
  responses: { 200: json(z.array(Contact)) },
  failures: ["not-found"],
  emits: ["COUNTER_PARTY_CONTACT_UPDATED"],
  cli: { command: "contracts contacts update-many", columns: ["id", "name", "email", "is_primary"] },
  basis: { assumed: "The limit of 50 rows is public, but the path and body are not (DECISIONS.md, C29)." },
  examples: [
    {
      title: "Change two contacts",
      params: { counter_party_id: 1 },
      body: {
        contacts: [
          { id: 1, is_primary: true },
          { id: 2, name: "Kim Lee" },
        ],
      },
    },
  ],
});

export const updateContact = defineOperation({
  id: "counterparty-contacts.update",
  ...contractOperation,
  summary: "Change a contact of a counterparty",
  method: "PATCH",
  path: "/api/v2.1/public/counter_parties/{counter_party_id}/contacts/{contact_id}/",
  request: { params: contactParams, body: json(changes) },
  responses: { 200: json(Contact) },
  failures: ["not-found"],
  emits: ["COUNTER_PARTY_CONTACT_UPDATED"],
  cli: { command: "contracts contacts update" },
  basis: { assumed: "Changing contacts is public. The route for a single contact is not (DECISIONS.md, C29)." },
  examples: [
    { title: "Make it the primary one", params: { counter_party_id: 1, contact_id: 1 }, body: { is_primary: true } },
  ],
});

export const deleteContact = defineOperation({
  id: "counterparty-contacts.delete",
  ...publicOperation,
  summary: "Delete a contact of a counterparty",
  method: "DELETE",
  path: "/api/v2.1/public/counter_parties/{counter_party_id}/contacts/{contact_id}/",
  request: { params: contactParams },
  responses: { 204: empty() },
  failures: ["not-found"],
  cli: { command: "contracts contacts delete", confirm: "yes" },
  examples: [{ title: "Delete a contact", params: { counter_party_id: 1, contact_id: 1 } }],
});

const basis = {
  assumed:
    "The activities of addresses are specified, but no public route causes them. The routes are modeled on those of contacts (DECISIONS.md, C29).",
};

export const listAddresses = defineOperation({
  id: "counterparty-addresses.list",
  ...contractOperation,
  summary: "List the addresses of a counterparty",
  path: "/api/v2.1/public/counter_parties/{counter_party_id}/addresses/",
  request: { params: counterpartyParams, query: z.object(paging) },
  responses: { 200: json(defineContractPage(Address)) },
  failures: ["not-found"],
  cli: {
    command: "contracts addresses list",
    rows: "results",
    columns: ["id", "line_one", "city_name", "country_name"],
  },
  basis,
  examples: [{ title: "List the addresses of a counterparty", params: { counter_party_id: 1 } }],
});

export const createAddress = defineOperation({
  id: "counterparty-addresses.create",
  ...contractOperation,
  summary: "Add an address to a counterparty",
  method: "POST",
  path: "/api/v2.1/public/counter_parties/{counter_party_id}/addresses/",
  request: { params: counterpartyParams, body: json(AddressRequest) },
  responses: { 201: json(Address) },
  failures: ["not-found"],
  emits: ["COUNTER_PARTY_ADDRESS_CREATED"],
  cli: { command: "contracts addresses create" },
  basis,
  examples: [
    {
      title: "Add an office",
      params: { counter_party_id: 1 },
      body: { line_one: "2 High Street", city_name: "Leeds", country_name: "United Kingdom", zipcode: "LS1 1AA" },
    },
  ],
});

export const updateAddress = defineOperation({
  id: "counterparty-addresses.update",
  ...contractOperation,
  summary: "Change an address of a counterparty",
  method: "PATCH",
  path: "/api/v2.1/public/counter_parties/{counter_party_id}/addresses/{address_id}/",
  request: {
    params: counterpartyParams.extend({ address_id: z.int().describe("ID of the address") }),
    body: json(
      z.object({
        line_one: z.string().min(1).optional().describe("Street and number"),
        city_name: z.string().min(1).optional().describe("City"),
        state_name: z.string().min(1).optional().describe("State or province"),
        zipcode: z.string().min(1).optional().describe("Postal code"),
        country_iso_code: z.string().min(1).optional().describe("Country code of a jurisdiction of the workspace"),
        is_primary: z.boolean().optional().describe("Make it the primary address"),
      }),
    ),
  },
  responses: { 200: json(Address) },
  failures: ["not-found"],
  emits: ["COUNTER_PARTY_ADDRESS_UPDATED"],
  cli: { command: "contracts addresses update" },
  basis,
  examples: [
    { title: "Change the street", params: { counter_party_id: 1, address_id: 1 }, body: { line_one: "3 High Street" } },
  ],
});
