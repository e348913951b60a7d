import type { Operation } from "../../../../api/operation.ts";
import {
  mapChatATeams,
  mapClusterClients,
  mapClusterEmails,
  mapCreatorTokens,
  mapExternalIntegrations,
  unmapChatATeams,
  unmapClusterClients,
  unmapClusterEmails,
  unmapCreatorTokens,
  unmapExternalIntegrations,
} from "../../../../api/router/mapping-tables.ts";
import {
  createSecretWordKind,
  createWordKind,
  type EmailHashing,
  emailKind,
  externalId,
  type IdentifierKind,
} from "./input/identifiers.ts";
import type { BulkWork } from "./work.ts";

/** A mapping table that bulk commands fill and empty. Data; the operations are loaded when a job starts. */
export interface MappingJob {
  /** Second part of the commands: `emails` gives `map-emails` and `unmap-emails`. */
  readonly name: string;
  readonly noun: string;
  readonly kind: (hash: EmailHashing) => IdentifierKind;
  /** The field of the request body that holds the list. */
  readonly listField: string;
  readonly operations: () => Promise<{ readonly map: Operation; readonly unmap: Operation }>;
}

const constant = (kind: IdentifierKind) => () => kind;

export const mappingTables: readonly MappingJob[] = [
  {
    name: "emails",
    noun: "e-mail",
    kind: emailKind,
    listField: "email_hash_list",
    operations: async () => {
      return { map: mapClusterEmails, unmap: unmapClusterEmails };
    },
  },
  {
    name: "clients",
    noun: "client id",
    kind: constant(createWordKind("client id")),
    listField: "client_ids",
    operations: async () => {
      return { map: mapClusterClients, unmap: unmapClusterClients };
    },
  },
  {
    name: "creator-tokens",
    noun: "creator invite token",
    kind: constant(createSecretWordKind("creator invite token")),
    listField: "tokens",
    operations: async () => {
      return { map: mapCreatorTokens, unmap: unmapCreatorTokens };
    },
  },
  {
    name: "counterparty-tokens",
    noun: "counterparty invite token",
    kind: constant(createSecretWordKind("counterparty invite token")),
    listField: "tokens",
    operations: async () => {
      const tokens = await import("../../../../api/router/mapping-tables.ts");
      return { map: tokens.mapCounterpartyTokens, unmap: tokens.unmapCounterpartyTokens };
    },
  },
  {
    name: "chat-a-teams",
    noun: "team id",
    kind: constant(createWordKind("team id")),
    listField: "chat_a_team_id_list",
    operations: async () => {
      return { map: mapChatATeams, unmap: unmapChatATeams };
    },
  },
  {
    name: "external-integrations",
    noun: "external id",
    kind: constant(externalId),
    listField: "external_id_list",
    operations: async () => {
      return { map: mapExternalIntegrations, unmap: unmapExternalIntegrations };
    },
  },
];

const workOf = ({ name, noun, kind, listField, operations }: MappingJob, action: "map" | "unmap"): BulkWork => ({
  noun,
  kind: ({ hash }) => kind(hash),
  name: `${action}-${name}`,
  place: "<file>",
  table: ["emails", "clients"].includes(name) ? `cluster_${name}` : name.replaceAll("-", "_"),
  action,
  operation: async () => (await operations())[action],
  call: (values, scope) => ({ body: { [listField]: values, ...scope } }),
});

export const mappingWork: readonly BulkWork[] = mappingTables.flatMap((table) => [
  workOf(table, "map"),
  workOf(table, "unmap"),
]);
