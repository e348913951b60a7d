import { mapping } from "../../store/port.ts";

/** The routing data: tables that map an identifier to the cluster that owns it (specification, Mapping tables). */
export const mappingTables = {
  /** By e-mail hash (DECISIONS.md, R11). */
  cluster_emails: mapping("cluster_emails"),
  /** By OAuth client id, and by the client-id of each API key. */
  cluster_clients: mapping("cluster_clients"),
  creator_tokens: mapping("creator_tokens"),
  counterparty_tokens: mapping("counterparty_tokens"),
  chat_a_teams: mapping("chat_a_teams"),
  /** By `<integration type>:<external id>`. */
  external_integrations: mapping("external_integrations"),
  /** By user code of a device grant, upper case without punctuation. */
  user_codes: mapping("user_codes"),
} as const;

export type MappingTable = keyof typeof mappingTables;
