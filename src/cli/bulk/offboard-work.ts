import { lookupTable } from "../../base/lookup-table.ts";
import { mask } from "../connection/redact.ts";
import { email, type IdentifierKind, secretWord, word } from "./input/identifiers.ts";
import type { BulkWork } from "./work.ts";

interface OffboardKind extends IdentifierKind {
  /** The field of the request body that lists its identifiers. */
  readonly field: string;
}

/** The kinds of identifiers that a workspace leaves behind, by the word that a row names them with. */
export const offboardKinds = lookupTable<OffboardKind>({
  email: { ...email, field: "email_hash_list" },
  client: { ...word("client id"), field: "client_ids" },
  "creator-token": { ...secretWord("creator invite token"), field: "creator_tokens" },
  "counterparty-token": { ...secretWord("counterparty invite token"), field: "cp_tokens" },
  "chat-a-team": { ...word("team id"), field: "chat_a_team_id_list" },
  "external-integration": { ...word("external id"), field: "external_integrations" },
  "user-code": { ...secretWord("user code"), field: "user_codes" },
});

/** `email ada@example.com` → its kind and its identifier. */
function parts(text: string): { kind: OffboardKind | undefined; identifier: string } {
  const space = text.search(/\s/);
  if (space < 0) return { kind: undefined, identifier: text };
  return { kind: offboardKinds[text.slice(0, space)], identifier: text.slice(space).trim() };
}

/** Rows of a kind and an identifier; each batch is one call that removes all kinds in one transaction. */
export const offboardWork: BulkWork = {
  name: "offboard",
  action: "offboard",
  noun: "identifier",
  place: "--from",
  columns: ["kind", "identifier"],
  problem(text) {
    const { kind, identifier } = parts(text);
    if (!kind) return `no kind and identifier; kinds: ${Object.keys(offboardKinds).join(", ")}`;
    return kind.problem(identifier);
  },
  value(text) {
    const { kind, identifier } = parts(text);
    return `${kind!.field} ${kind!.value(identifier)}`;
  },
  shown(text) {
    const { kind, identifier } = parts(text);
    const [named = ""] = /^\S+\s/.exec(text) ?? [];
    // Of what kind the identifier of an unknown one is, nobody knows.
    return named + (kind?.shown(identifier) ?? mask);
  },
  operation: async () => (await import("../../api/router/clusters.ts")).deleteWorkspaceData,
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
