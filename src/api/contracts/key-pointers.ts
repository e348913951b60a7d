import * as z from "zod";
import { defineOperation, json } from "../operation.ts";
import { publicOperation } from "../services.ts";
import { anyOf, dictionary } from "../shapes.ts";
import { Attribute, compositeParams, userScoping } from "./shapes.ts";

export const KeyPointer = z.strictObject({
  id: z.int(),
  value: z.unknown(),
  label: z.string(),
  field_name: z.string(),
  data_type: z.string(),
  format_option: dictionary(z.unknown()),
});

export const listKeyPointerDefinitions = defineOperation({
  id: "key-pointers.definitions",
  ...publicOperation,
  summary: "List the key pointers that contracts of a type have",
  path: "/api/v2.1/public/key_pointers/",
  request: { query: z.object({ contract_type_id: z.int().describe("ID of the contract type") }) },
  responses: {
    200: json(
      z.array(
        z.strictObject({
          id: z.int(),
          descriptors: z.array(Attribute),
          section: z.strictObject({
            id: z.int(),
            section_type: z.enum(["USER_DEFINED", "SYSTEM_DEFINED"]),
            name: z.string(),
          }),
        }),
      ),
    ),
  },
  cli: { command: "contracts key-pointers definitions" },
  examples: [{ title: "List the available key pointers", query: { contract_type_id: 301 } }],
});

export const listKeyPointers = defineOperation({
  id: "key-pointers.list",
  ...publicOperation,
  summary: "List the key pointers of a contract",
  path: "/api/v2.1/public/contracts/{composite_id}/key_pointers",
  request: { params: compositeParams, headers: userScoping },
  responses: { 200: json(z.array(KeyPointer)) },
  failures: ["not-found"],
  cli: { command: "contracts key-pointers list", columns: ["id", "field_name", "value"] },
  examples: [{ title: "List the key pointers of a contract", params: { composite_id: "T-1" } }],
});

export const setKeyPointers = defineOperation({
  id: "key-pointers.set",
  ...publicOperation,
  summary: "Create or change several key pointers of a contract",
  description: "Each row names its key pointer by key_pointer_id or by key_pointer_field_name.",
  method: "POST",
  path: "/api/v2.1/public/contracts/{composite_id}/key_pointers/bulk",
  request: {
    params: compositeParams,
    body: json(
      z.object({
        key_pointers: z
          .array(
            z
              .object({
                key_pointer_id: z.int().optional(),
                key_pointer_field_name: z.string().min(1).optional(),
                value: z.unknown().describe("Any JSON value"),
              })
              .meta(anyOf("key_pointer_id", "key_pointer_field_name")),
          )
          .min(1),
      }),
    ),
  },
  responses: { 200: json(z.array(KeyPointer)) },
  failures: ["not-found"],
  emits: ["CONTRACT_KEY_POINTER_CREATION", "CONTRACT_KEY_POINTER_UPDATION"],
  cli: { command: "contracts key-pointers set", columns: ["id", "field_name", "value"] },
  examples: [
    {
      title: "Set the expiry date",
      params: { composite_id: "T-1" },
      body: { key_pointers: [{ key_pointer_field_name: "expiry_date", value: "2032-01-01" }] },
    },
  ],
});

export const updateKeyPointer = defineOperation({
  id: "key-pointers.update",
  ...publicOperation,
  summary: "Change a key pointer of a contract",
  method: "PATCH",
  path: "/api/v2.1/public/contracts/{composite_id}/key_pointers/{key_pointer_id}",
  request: {
    params: compositeParams.extend({ key_pointer_id: z.int().describe("ID of the key pointer") }),
    body: json(z.object({ value: z.unknown().describe("Any JSON value") })),
  },
  responses: { 200: json(KeyPointer) },
  failures: ["not-found"],
  emits: ["CONTRACT_KEY_POINTER_UPDATION"],
  cli: { command: "contracts key-pointers update" },
  examples: [
    { title: "Extend a contract", params: { composite_id: "T-1", key_pointer_id: 1 }, body: { value: "2033-01-01" } },
  ],
});
