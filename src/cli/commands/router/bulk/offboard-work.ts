import { deleteWorkspaceData } from "../../../../api/router/clusters.ts";
import { lookupTable } from "../../../../base/object.ts";
import { mask } from "../../../process/redact.ts";
import {
  createSecretWordKind,
  createWordKind,
  type EmailHashing,
  externalId,
  getEmailKind,
  type IdentifierKind,
} from "./input/identifiers.ts";
import type { BulkWork, RowReading } from "./work.ts";

interface OffboardKind {
  /** The field of the request body that lists the identifiers. */
  readonly field: string;
  /** Its name in svc router resolve. */
  readonly table: string;
  readonly getKind: (hash: EmailHashing) => IdentifierKind;
}

const createOffboardKind = (field: string, table: string, kind: IdentifierKind): OffboardKind => ({
  field,
  table,
  getKind: () => kind,
});

/** The kinds of identifiers of a workspace, by the word that a row uses. */
export const offboardKinds = lookupTable<OffboardKind>({
  email: { field: "email_hash_list", table: "cluster_emails", getKind: getEmailKind },
  client: createOffboardKind("client_ids", "cluster_clients", createWordKind("client id")),
  "creator-token": createOffboardKind("creator_tokens", "creator_tokens", createSecretWordKind("creator invite token")),
  "counterparty-token": createOffboardKind(
    "cp_tokens",
    "counterparty_tokens",
    createSecretWordKind("counterparty invite token"),
  ),
  "chat-a-team": createOffboardKind("chat_a_team_id_list", "chat_a_teams", createWordKind("team id")),
  "external-integration": createOffboardKind("external_integrations", "external_integrations", externalId),
  "user-code": createOffboardKind("user_codes", "user_codes", createSecretWordKind("user code")),
});

const byTable = lookupTable(Object.fromEntries(Object.values(offboardKinds).map((kind) => [kind.table, kind])));

interface Row {
  readonly field: string;
  readonly kind: IdentifierKind;
  readonly identifier: string;
  /** The owner according to svc router resolve. */
  readonly cluster: string | undefined;
}

/** Parses `email ada@example.com`, or the table, key and cluster of a row from svc router resolve. */
function parseRow(text: string, { hash }: RowReading): Row | undefined {
  const [name = "", ...rest] = text.split(/\s+/);
  const tableKind = byTable[name];
  const found = offboardKinds[name] ?? tableKind;
  if (!found || rest.length === 0) return undefined;
  const cluster = tableKind && rest.length === 2 ? rest.pop() : undefined;
  return { field: found.field, kind: found.getKind(hash), identifier: rest.join(" "), cluster };
}

/** Rows with a kind and an identifier. Each batch is one request that removes all kinds in one transaction. */
export const offboardWork: BulkWork = {
  name: "offboard",
  action: "offboard",
  noun: "identifier",
  place: "--from",
  columns: ["kind", "identifier"],
  getKind: (reading) => ({
    noun: "identifier",
    findProblem(text) {
      const row = parseRow(text, reading);
      if (!row) return `not a kind and an identifier (kinds: ${Object.keys(offboardKinds).join(", ")})`;
      const { cluster, kind, identifier } = row;
      if (cluster !== undefined && cluster !== reading.scope.cluster_id) return `of another cluster: ${cluster}`;
      return kind.findProblem(identifier);
    },
    toValue(text) {
      const { field, kind, identifier } = parseRow(text, reading)!;
      return `${field} ${kind.toValue(identifier)}`;
    },
    toKey(text) {
      const { field, kind, identifier } = parseRow(text, reading)!;
      return `${field} ${kind.toKey(identifier)}`;
    },
    getForm(text) {
      const { kind, identifier } = parseRow(text, reading)!;
      return kind.getForm?.(identifier);
    },
    toShown(text) {
      const [named = ""] = /^\S+\s+/.exec(text) ?? [];
      // An unknown identifier has no known kind.
      const row = parseRow(text, reading);
      return named + (row ? row.kind.toShown(row.identifier) : mask);
    },
  }),
  loadOperation: async () => deleteWorkspaceData,
  toArguments(values, { cluster_id, ...scope }) {
    const lists: Record<string, string[]> = Object.create(null);
    for (const value of values) {
      const space = value.indexOf(" ");
      const field = value.slice(0, space);
      lists[field] ??= [];
      lists[field].push(value.slice(space + 1));
    }
    const { external_integrations: ids, ...others } = lists;
    const integrations = ids && [{ external_id_list: ids, integration_type: scope.integration_type ?? "CHAT_B" }];
    return {
      params: { cluster_id },
      body: { ...others, ...(integrations ? { external_integrations: integrations } : {}) },
    };
  },
};
