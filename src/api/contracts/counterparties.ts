import * as z from "zod";
import { defineOperation, json } from "../operation.ts";
import { contractOperation, publicOperation } from "../services.ts";
import { dictionary, email, optionalString } from "../shapes.ts";
import { defineContractPage, paging } from "./shapes.ts";

const optionalText = z.string().nullable().optional();

/** An address in a request. Shared with the address operations. */
export const AddressRequest = z.object({
  line_one: z.string().min(1).describe("Street and number"),
  city_name: z.string().min(1).describe("City"),
  state_name: z.string().default("").describe("State or province"),
  zipcode: z.string().default("").describe("Postal code"),
  country_name: z.string().min(1).describe("Country"),
  country_iso_code: optionalText.describe("Country code of two letters"),
  email: optionalText.describe("E-mail address of the office"),
  phone: optionalText.describe("Telephone number of the office"),
});

export const Address = z.strictObject({
  id: z.int(),
  line_one: z.string(),
  city_name: z.string(),
  state_name: z.string(),
  zipcode: z.string(),
  country_name: z.string(),
  email: z.string().optional(),
  phone: z.string().optional(),
});

export const CounterpartyRecord = z.strictObject({
  id: z.int(),
  name: z.string(),
  is_individual: z.boolean(),
  contacts: z.array(z.strictObject({ id: z.int(), name: z.string(), email: z.string() })),
  primary_address: Address.optional(),
  status: z.enum(["ACTIVE", "ARCHIVED", "MIGRATING"]),
  custom_fields: dictionary(z.unknown()).optional(),
  brand_name: z.string().optional(),
});

const customFields = dictionary(z.unknown()).nullable().describe("Custom fields of the workspace");

export const counterpartyParams = z.object({ counter_party_id: z.int().describe("ID of the counterparty") });

export const listCounterparties = defineOperation({
  id: "counterparties.list",
  ...publicOperation,
  summary: "List counterparties",
  description:
    "A query parameter filter_custom__<field> matches the exact value of a custom field. On a command line, send it with svc api.",
  path: "/api/v2.1/public/counter_parties/",
  request: {
    query: z.looseObject({
      ...paging,
      filter__client_email_address: optionalString.describe("E-mail address of a contact"),
    }),
  },
  responses: { 200: json(defineContractPage(CounterpartyRecord)) },
  cli: {
    command: "contracts counterparties list",
    rows: "results",
    columns: ["id", { name: "name", shrinkPriority: 1 }, "is_individual", "status"],
  },
  examples: [
    {
      title: "Find a counterparty by the e-mail address of a contact",
      query: { filter__client_email_address: "jo@acme.example" },
    },
  ],
});

/** Only documents the rule: the handler reports each invalid field in the framework's wording. */
const contactDependency = {
  dependentRequired: { contact_name: ["contact_email"], contact_email: ["contact_name"] },
  if: { properties: { is_individual: { const: true } } },
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema uses this name, and nothing awaits a schema.
  then: { required: ["contact_name", "contact_email"] },
  else: { required: ["organization_name"] },
};

export const createCounterparty = defineOperation({
  id: "counterparties.create",
  ...publicOperation,
  summary: "Create a counterparty",
  description: "An organization requires organization_name. An individual requires contact_name and contact_email.",
  method: "POST",
  path: "/api/v2.1/public/counter_parties/",
  request: {
    body: json(
      z
        .object({
          is_individual: z.boolean().describe("The counterparty is a person instead of an organization"),
          organization_name: z.string().min(1).optional().describe("Name of the organization"),
          organization_type: optionalText.describe("Label of an organization type of the workspace"),
          contact_name: z.string().min(1).optional().describe("Name of the contact person"),
          contact_email: email.optional().describe("E-mail address of the contact person"),
          brand_name: optionalText.describe("Brand name"),
          primary_address: AddressRequest.nullable().optional(),
          custom_fields: customFields.optional(),
        })
        .meta(contactDependency),
    ),
  },
  responses: { 201: json(CounterpartyRecord) },
  emits: ["COUNTER_PARTY_CREATED", "COUNTER_PARTY_CONTACT_CREATED", "COUNTER_PARTY_ADDRESS_CREATED"],
  cli: { command: "contracts counterparties create" },
  examples: [{ title: "Create an organization", body: { is_individual: false, organization_name: "Acme Corp" } }],
});

export const showCounterparty = defineOperation({
  id: "counterparties.show",
  ...contractOperation,
  summary: "Show a counterparty",
  path: "/api/v2.1/public/counter_parties/{counter_party_id}",
  request: { params: counterpartyParams },
  responses: { 200: json(CounterpartyRecord) },
  failures: ["not-found"],
  cli: { command: "contracts counterparties show" },
  basis: { assumed: "The path is public, but the response is not. It is a row of the list." },
  examples: [{ title: "Show a counterparty", params: { counter_party_id: 1 } }],
});

export const updateCounterparty = defineOperation({
  id: "counterparties.update",
  ...contractOperation,
  summary: "Change a counterparty",
  method: "PATCH",
  path: "/api/v2.1/public/counter_parties/{counter_party_id}",
  request: {
    params: counterpartyParams,
    body: json(
      z.object({
        name: z.string().min(1).optional().describe("New name"),
        brand_name: optionalText.describe("Brand name"),
        custom_fields: customFields.optional(),
      }),
    ),
  },
  responses: { 200: json(CounterpartyRecord) },
  failures: ["not-found"],
  emits: ["COUNTER_PARTY_UPDATED", "CONTRACT_ENTITY_UPDATED"],
  cli: { command: "contracts counterparties update" },
  basis: {
    assumed:
      "The path is public, but the method and body are not. The body has fields of the response (DECISIONS.md, C29).",
  },
  examples: [{ title: "Rename a counterparty", params: { counter_party_id: 1 }, body: { name: "Acme Inc." } }],
});
