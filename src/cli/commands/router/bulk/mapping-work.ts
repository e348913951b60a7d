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
  externalId,
  getEmailKind,
  type IdentifierKind,
} from "./input/identifiers.ts";
import type { BulkWork } from "./work.ts";

/** A mapping table that bulk commands fill and empty. Operations are loaded when a job starts. */
export interface MappingJob {
  /** Second part of the command names: `emails` for `map-emails` and `unmap-emails`. */
  readonly name: string;
  readonly noun: string;
  readonly getKind: (hash: EmailHashing) => IdentifierKind;
  /** The field of the request body that holds the list. */
  readonly listField: string;
  readonly loadOperations: () => Promise<{ readonly map: Operation; readonly unmap: Operation }>;
}

const always = (kind: IdentifierKind) => () => kind;

export const mappingTables: readonly MappingJob[] = [
  {
    name: "emails",
    noun: "e-mail",
    getKind: getEmailKind,
    listField: "email_hash_list",
    loadOperations: async () => {
      return { map: mapClusterEmails, unmap: unmapClusterEmails };
    },
  },
  {
    name: "clients",
    noun: "client id",
    getKind: always(createWordKind("client id")),
    listField: "client_ids",
    loadOperations: async () => {
      return { map: mapClusterClients, unmap: unmapClusterClients };
    },
  },
  {
    name: "creator-tokens",
    noun: "creator invite token",
    getKind: always(createSecretWordKind("creator invite token")),
    listField: "tokens",
    loadOperations: async () => {
      return { map: mapCreatorTokens, unmap: unmapCreatorTokens };
    },
  },
  {
    name: "counterparty-tokens",
    noun: "counterparty invite token",
    getKind: always(createSecretWordKind("counterparty invite token")),
    listField: "tokens",
    loadOperations: async () => {
      const tokens = await import("../../../../api/router/mapping-tables.ts");
      return { map: tokens.mapCounterpartyTokens, unmap: tokens.unmapCounterpartyTokens };
    },
  },
  {
    name: "chat-a-teams",
    noun: "team id",
    getKind: always(createWordKind("team id")),
    listField: "chat_a_team_id_list",
    loadOperations: async () => {
      return { map: mapChatATeams, unmap: unmapChatATeams };
    },
  },
  {
    name: "external-integrations",
    noun: "external id",
    getKind: always(externalId),
    listField: "external_id_list",
    loadOperations: async () => {
      return { map: mapExternalIntegrations, unmap: unmapExternalIntegrations };
    },
  },
];

const createWork = (
  { name, noun, getKind, listField, loadOperations }: MappingJob,
  action: "map" | "unmap",
): BulkWork => ({
  noun,
  getKind: ({ hash }) => getKind(hash),
  name: `${action}-${name}`,
  place: "<file>",
  table: ["emails", "clients"].includes(name) ? `cluster_${name}` : name.replaceAll("-", "_"),
  action,
  loadOperation: async () => (await loadOperations())[action],
  toArguments: (values, scope) => ({ body: { [listField]: values, ...scope } }),
});

export const mappingWork: readonly BulkWork[] = mappingTables.flatMap((table) => [
  createWork(table, "map"),
  createWork(table, "unmap"),
]);
