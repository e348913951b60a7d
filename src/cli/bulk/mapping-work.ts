import type { Operation } from "../../api/operation.ts";
import { email, type IdentifierKind, secretWord, word } from "./input/identifiers.ts";
import type { BulkWork } from "./work.ts";

/** A mapping table that bulk commands fill and empty. Data; the operations are loaded when a job starts. */
export interface MappingJob {
  /** Second part of the commands: `emails` gives `map-emails` and `unmap-emails`. */
  readonly name: string;
  readonly kind: IdentifierKind;
  /** The field of the request body that holds the list. */
  readonly listField: string;
  readonly operations: () => Promise<{ readonly map: Operation; readonly unmap: Operation }>;
}

export const mappingTables: readonly MappingJob[] = [
  {
    name: "emails",
    kind: email,
    listField: "email_hash_list",
    operations: async () => {
      const { mapClusterEmails, unmapClusterEmails } = await import("../../api/router/cluster-emails.ts");
      return { map: mapClusterEmails, unmap: unmapClusterEmails };
    },
  },
  {
    name: "clients",
    kind: word("client id"),
    listField: "client_ids",
    operations: async () => {
      const { mapClusterClients, unmapClusterClients } = await import("../../api/router/cluster-clients.ts");
      return { map: mapClusterClients, unmap: unmapClusterClients };
    },
  },
  {
    name: "creator-tokens",
    kind: secretWord("creator invite token"),
    listField: "tokens",
    operations: async () => {
      const { mapCreatorTokens, unmapCreatorTokens } = await import("../../api/router/invite-tokens.ts");
      return { map: mapCreatorTokens, unmap: unmapCreatorTokens };
    },
  },
  {
    name: "counterparty-tokens",
    kind: secretWord("counterparty invite token"),
    listField: "tokens",
    operations: async () => {
      const tokens = await import("../../api/router/invite-tokens.ts");
      return { map: tokens.mapCounterpartyTokens, unmap: tokens.unmapCounterpartyTokens };
    },
  },
  {
    name: "chat-a-teams",
    kind: word("team id"),
    listField: "chat_a_team_id_list",
    operations: async () => {
      const { mapChatATeams, unmapChatATeams } = await import("../../api/router/chat-a-teams.ts");
      return { map: mapChatATeams, unmap: unmapChatATeams };
    },
  },
  {
    name: "external-integrations",
    kind: word("external id"),
    listField: "external_id_list",
    operations: async () => {
      const { mapExternalIntegrations, unmapExternalIntegrations } = await import(
        "../../api/router/external-integrations.ts"
      );
      return { map: mapExternalIntegrations, unmap: unmapExternalIntegrations };
    },
  },
];

const workOf = ({ name, kind, listField, operations }: MappingJob, action: "map" | "unmap"): BulkWork => ({
  ...kind,
  name: `${action}-${name}`,
  place: "<file>",
  action,
  operation: async () => (await operations())[action],
  call: (values, scope) => ({ body: { [listField]: values, ...scope } }),
});

export const mappingWork: readonly BulkWork[] = mappingTables.flatMap((table) => [
  workOf(table, "map"),
  workOf(table, "unmap"),
]);
