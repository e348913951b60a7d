import * as z from "zod";
import { defineOperation, json } from "../operation.ts";
import { controlOperation } from "../services.ts";

/** Kinds of identifiers in a look-up, with the names of the routing data. */
export const ownerTables = [
  "cluster_emails",
  "cluster_clients",
  "creator_tokens",
  "counterparty_tokens",
  "chat_a_teams",
  "external_integrations",
  "user_codes",
  "signatories",
] as const;

export const Owner = z.strictObject({
  table: z.enum(ownerTables),
  key: z.string().describe("Identifier as stored in the table: addresses are hashed, user codes are bare"),
  cluster_id: z.string(),
});

export const removeSignatories = defineOperation({
  id: "owners.remove-signatories",
  ...controlOperation,
  summary: "Remove signatory hashes of a cluster from the routing data",
  description: "The routing service has no operation for it. Unknown hashes are ignored.",
  method: "DELETE",
  path: "/_emulator/signatories",
  request: {
    body: json(
      z.object({
        signatory_hashes: z.array(z.string()).describe("Hashes of the signatories' e-mails"),
        cluster_id: z.string().describe("Cluster that the contracts live on"),
      }),
    ),
  },
  responses: { 200: json(z.strictObject({ removed: z.int().describe("Number of removed rows") })) },
  cli: { command: "emulator remove-signatories" },
  examples: [{ title: "Remove one hash", body: { signatory_hashes: ["5d41402a"], cluster_id: "eu-1" } }],
});

/** The tables in which each key belongs to exactly one cluster. */
export const keyedTables = ownerTables.filter((table) => table !== "signatories");

export const lookUpOwners = defineOperation({
  id: "owners.look-up",
  ...controlOperation,
  summary: "Look up which clusters own many identifiers of one table",
  description: "The routing service itself looks up one identifier per request.",
  method: "POST",
  path: "/_emulator/owners",
  role: "read",
  request: {
    body: json(
      z.object({
        table: z.enum(keyedTables).describe("Table of the routing data"),
        keys: z
          .array(z.string())
          .max(10_000)
          .describe(
            "Identifiers: e-mail addresses as hashes, user codes with or without punctuation, external IDs with or without CHAT_B:",
          ),
      }),
    ),
  },
  responses: {
    200: json(
      z.strictObject({
        cluster_ids: z.array(z.string().nullable()).describe("Clusters in the order of the keys; null: not mapped"),
      }),
    ),
  },
  cli: { command: "emulator owners look-up" },
  examples: [
    { title: "Look up the clusters of two clients", body: { table: "cluster_clients", keys: ["wk_1", "wk_2"] } },
  ],
});

export const listOwners = defineOperation({
  id: "owners.list",
  ...controlOperation,
  summary: "Show which clusters own an identifier, by routing table",
  path: "/_emulator/owners",
  request: {
    query: z.object({
      identifier: z.string().min(1).describe("E-mail address or hash, client ID, token, team, tenant or user code"),
    }),
  },
  responses: { 200: json(z.array(Owner)) },
  cli: { command: "emulator owners", columns: ["table", "key", "cluster_id"] },
  examples: [{ title: "Find the owner of a chat_a team", query: { identifier: "T-NORTHWIND" } }],
});
