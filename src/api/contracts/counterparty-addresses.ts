import * as z from "zod";
import { assumed } from "../basis.ts";
import { json, operation } from "../operation.ts";
import { contracts } from "../services.ts";
import { Address, AddressRequest, counterpartyParams } from "./counterparties.ts";
import { pageOf, paging } from "./shapes/paging.ts";

const ours = assumed(
  "Its activities are specified, but no route that causes them is public. The routes follow those of contacts (DECISIONS.md, C29).",
);

export const listAddresses = operation({
  id: "counterparty-addresses.list",
  service: contracts,
  summary: "List the addresses of a counterparty",
  method: "GET",
  path: "/api/v2.1/public/counter_parties/{counter_party_id}/addresses/",
  auth: "api-key",
  request: { params: counterpartyParams, query: z.object(paging) },
  responses: { 200: json(pageOf(Address)) },
  failures: ["not-found"],
  cli: {
    command: "contracts addresses list",
    rows: "results",
    columns: ["id", "line_one", "city_name", "country_name"],
  },
  basis: ours,
  examples: [{ title: "List the addresses of a counterparty", params: { counter_party_id: 1 } }],
});

export const createAddress = operation({
  id: "counterparty-addresses.create",
  service: contracts,
  summary: "Add an address to a counterparty",
  method: "POST",
  path: "/api/v2.1/public/counter_parties/{counter_party_id}/addresses/",
  auth: "api-key",
  request: { params: counterpartyParams, body: json(AddressRequest) },
  responses: { 201: json(Address) },
  failures: ["not-found"],
  emits: ["COUNTER_PARTY_ADDRESS_CREATED"],
  cli: { command: "contracts addresses create" },
  basis: ours,
  examples: [
    {
      title: "Add an office",
      params: { counter_party_id: 1 },
      body: { line_one: "2 High Street", city_name: "Leeds", country_name: "United Kingdom", zipcode: "LS1 1AA" },
    },
  ],
});

export const updateAddress = operation({
  id: "counterparty-addresses.update",
  service: contracts,
  summary: "Change an address of a counterparty",
  method: "PATCH",
  path: "/api/v2.1/public/counter_parties/{counter_party_id}/addresses/{address_id}/",
  auth: "api-key",
  request: {
    params: counterpartyParams.extend({ address_id: z.int().describe("Id of the address") }),
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
  basis: ours,
  examples: [
    { title: "Change the street", params: { counter_party_id: 1, address_id: 1 }, body: { line_one: "3 High Street" } },
  ],
});
