import { defineMapping } from "../../store/port.ts";

/** The routing data: tables that map an identifier to the cluster that owns it (specification, Mapping tables). */
export const mappingTables = {
  /** By e-mail hash (DECISIONS.md, R11). */
  cluster_emails: defineMapping("cluster_emails"),
  /** By OAuth client id, and by the client-id of each API key. */
  cluster_clients: defineMapping("cluster_clients"),
  creator_tokens: defineMapping("creator_tokens"),
  counterparty_tokens: defineMapping("counterparty_tokens"),
  chat_a_teams: defineMapping("chat_a_teams"),
  /** By `<integration type>:<external id>`. */
  external_integrations: defineMapping("external_integrations"),
  /** By user code of a device grant, upper case without punctuation. */
  user_codes: defineMapping("user_codes"),
} as const;

export type MappingTable = keyof typeof mappingTables;
