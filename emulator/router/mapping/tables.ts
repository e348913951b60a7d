import * as z from "zod";
import { defineMapping, defineRows } from "../../store/port.ts";

/** Tables that map an identifier to the cluster that owns it (specification, Mapping tables). */
export const mappingTables = {
  /** Keys are e-mail hashes (DECISIONS.md, R11). */
  cluster_emails: defineMapping("cluster_emails"),
  /** Keys are OAuth client IDs and the client-ids of API keys. */
  cluster_clients: defineMapping("cluster_clients"),
  creator_tokens: defineMapping("creator_tokens"),
  counterparty_tokens: defineMapping("counterparty_tokens"),
  chat_a_teams: defineMapping("chat_a_teams"),
  external_integrations: defineMapping("external_integrations"),
  /** Keys are user codes of device grants, in upper case without punctuation. */
  user_codes: defineMapping("user_codes"),
} as const;

export type MappingTable = keyof typeof mappingTables;

/** Builds a key of external_integrations. An external id is unique only within its type. */
export const buildIntegrationKey = (externalId: string, type = "CHAT_B"): string => `${type}:${externalId}`;

/** A contract signatory and a cluster that has a contract of this signatory (DECISIONS.md, R33). */
export const SignatoryMapping = z.strictObject({
  id: z.int(),
  uuid: z.string().nullable(),
  cluster: z.string(),
  signatory_hash: z.string(),
});
export type SignatoryMapping = z.infer<typeof SignatoryMapping>;

export const signatories = defineRows<SignatoryMapping, "hash", string>({
  name: "signatories",
  schema: SignatoryMapping,
  // The same hash and cluster identify the same row. A cluster ID contains no line break.
  key: (row) => buildSignatoryKey(row.cluster, row.signatory_hash),
  indexes: { hash: (row) => row.signatory_hash },
});

export const buildSignatoryKey = (cluster: string, hash: string): string => `${cluster}\n${hash}`;
