import type { Operation } from "../../api/operation.ts";
import { emailHash, isEmailHash } from "../../schemes/email-hash.ts";

/** A mapping table that bulk commands fill and empty. Data; the operations are loaded when a job starts. */
export interface BulkTable {
  /** Second part of the commands: `emails` gives `map-emails` and `unmap-emails`. */
  readonly name: string;
  /** What one identifier is called: `e-mail`. */
  readonly noun: string;
  /** The field of the request body that holds the list. */
  readonly listField: string;
  /** The identifier to send, or why the row is none. */
  readonly identifier: (text: string) => { readonly value: string } | { readonly problem: string };
  readonly operations: () => Promise<{ readonly map: Operation; readonly unmap: Operation }>;
}

/** Any text without spaces inside; the service takes any string. */
const word =
  (what: string): BulkTable["identifier"] =>
  (text) =>
    /\s/.test(text) ? { problem: `not ${what}: it contains spaces` } : { value: text };

/** Addresses are hashed; a hash passes as it is (decisions.md, R11). */
const email: BulkTable["identifier"] = (text) => {
  if (isEmailHash(text)) return { value: text };
  return /^[^\s@]+@[^\s@]+$/.test(text)
    ? { value: emailHash(text) }
    : { problem: "neither an e-mail address nor a SHA-256 digest" };
};

export const bulkTables: readonly BulkTable[] = [
  {
    name: "emails",
    noun: "e-mail",
    listField: "email_hash_list",
    identifier: email,
    operations: async () => {
      const { mapClusterEmails, unmapClusterEmails } = await import("../../api/router/cluster-emails.ts");
      return { map: mapClusterEmails, unmap: unmapClusterEmails };
    },
  },
  {
    name: "clients",
    noun: "client id",
    listField: "client_ids",
    identifier: word("a client id"),
    operations: async () => {
      const { mapClusterClients, unmapClusterClients } = await import("../../api/router/cluster-clients.ts");
      return { map: mapClusterClients, unmap: unmapClusterClients };
    },
  },
  {
    name: "creator-tokens",
    noun: "creator invite token",
    listField: "tokens",
    identifier: word("an invite token"),
    operations: async () => {
      const { mapCreatorTokens, unmapCreatorTokens } = await import("../../api/router/invite-tokens.ts");
      return { map: mapCreatorTokens, unmap: unmapCreatorTokens };
    },
  },
  {
    name: "counterparty-tokens",
    noun: "counterparty invite token",
    listField: "tokens",
    identifier: word("an invite token"),
    operations: async () => {
      const tokens = await import("../../api/router/invite-tokens.ts");
      return { map: tokens.mapCounterpartyTokens, unmap: tokens.unmapCounterpartyTokens };
    },
  },
  {
    name: "chat-a-teams",
    noun: "team id",
    listField: "chat_a_team_id_list",
    identifier: word("a team id"),
    operations: async () => {
      const { mapChatATeams, unmapChatATeams } = await import("../../api/router/chat-a-teams.ts");
      return { map: mapChatATeams, unmap: unmapChatATeams };
    },
  },
  {
    name: "integrations",
    noun: "external id",
    listField: "external_id_list",
    identifier: word("an external id"),
    operations: async () => {
      const { mapExternalIntegrations, unmapExternalIntegrations } = await import(
        "../../api/router/external-integrations.ts"
      );
      return { map: mapExternalIntegrations, unmap: unmapExternalIntegrations };
    },
  },
];
