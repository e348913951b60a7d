import { deleteWorkspaceData } from "../../../../api/router/clusters.ts";
import { lookupTable } from "../../../../base/object.ts";
import { mask } from "../../../process/redact.ts";
import {
  createSecretWordKind,
  createWordKind,
  type EmailHashing,
  emailKind,
  externalId,
  type IdentifierKind,
} from "./input/identifiers.ts";
import type { BulkWork, RowReading } from "./work.ts";

interface OffboardKind {
  /** The field of the request body that lists its identifiers. */
  readonly field: string;
  /** Name of it in svc router resolve. */
  readonly table: string;
  readonly kind: (hash: EmailHashing) => IdentifierKind;
}

const offboardKind = (field: string, table: string, kind: IdentifierKind): OffboardKind => ({
  field,
  table,
  kind: () => kind,
});

/** The kinds of identifiers that a workspace leaves behind, by the word that a row names them with. */
export const offboardKinds = lookupTable<OffboardKind>({
  email: { field: "email_hash_list", table: "cluster_emails", kind: emailKind },
  client: offboardKind("client_ids", "cluster_clients", createWordKind("client id")),
  "creator-token": offboardKind("creator_tokens", "creator_tokens", createSecretWordKind("creator invite token")),
  "counterparty-token": offboardKind(
    "cp_tokens",
    "counterparty_tokens",
    createSecretWordKind("counterparty invite token"),
  ),
  "chat-a-team": offboardKind("chat_a_team_id_list", "chat_a_teams", createWordKind("team id")),
  "external-integration": offboardKind("external_integrations", "external_integrations", externalId),
  "user-code": offboardKind("user_codes", "user_codes", createSecretWordKind("user code")),
});

const byTable = lookupTable(Object.fromEntries(Object.values(offboardKinds).map((kind) => [kind.table, kind])));

interface Row {
  readonly field: string;
  readonly kind: IdentifierKind;
  readonly identifier: string;
  /** Owner according to svc router resolve. */
  readonly cluster: string | undefined;
}

/** `email ada@example.com`, or the table, key and cluster of a row that svc router resolve prints. */
function rowOf(text: string, { hash }: RowReading): Row | undefined {
  const [name = "", ...rest] = text.split(/\s+/);
  const ofTable = byTable[name];
  const found = offboardKinds[name] ?? ofTable;
  if (!found || rest.length === 0) return undefined;
  const cluster = ofTable && rest.length === 2 ? rest.pop() : undefined;
  return { field: found.field, kind: found.kind(hash), identifier: rest.join(" "), cluster };
}

/** Rows of a kind and an identifier; each batch is one call that removes all kinds in one transaction. */
export const offboardWork: BulkWork = {
  name: "offboard",
  action: "offboard",
  noun: "identifier",
  place: "--from",
  columns: ["kind", "identifier"],
  kind: (reading) => ({
    noun: "identifier",
    problem(text) {
      const row = rowOf(text, reading);
      if (!row) return `not a kind and an identifier (kinds: ${Object.keys(offboardKinds).join(", ")})`;
      const { cluster, kind, identifier } = row;
      if (cluster !== undefined && cluster !== reading.scope.cluster_id) return `of another cluster: ${cluster}`;
      return kind.problem(identifier);
    },
    value(text) {
      const { field, kind, identifier } = rowOf(text, reading)!;
      return `${field} ${kind.value(identifier)}`;
    },
    key(text) {
      const { field, kind, identifier } = rowOf(text, reading)!;
      return `${field} ${kind.key(identifier)}`;
    },
    form(text) {
      const { kind, identifier } = rowOf(text, reading)!;
      return kind.form?.(identifier);
    },
    shown(text) {
      const [named = ""] = /^\S+\s+/.exec(text) ?? [];
      // The kind of an unknown identifier is not known.
      const row = rowOf(text, reading);
      return named + (row ? row.kind.shown(row.identifier) : mask);
    },
  }),
  operation: async () => deleteWorkspaceData,
  call(values, { cluster_id, ...scope }) {
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
