import { hashEmail, isEmailHash } from "../../src/base/email-address.ts";
import { inTransaction } from "../http/handler.ts";
import { toUserCodeKey } from "../router/device/rows.ts";
import {
  buildIntegrationKey,
  buildSignatoryKey,
  type MappingTable,
  mappingTables,
  signatories,
} from "../router/mapping/tables.ts";
import { findClusters } from "../router/resolve.ts";
import type { ControlHandlers } from "./context.ts";

export const ownerHandlers = {
  "owners.list": ({ query: { identifier } }, { store, clusters }) =>
    listCandidates(identifier).flatMap((candidate) =>
      findClusters(store, clusters, candidate).map(({ id }) => ({ ...candidate, cluster_id: id })),
    ),

  "owners.look-up": ({ body: { table, keys } }, { store }) => ({
    cluster_ids: keys.map((key) => store.lookup(mappingTables[table], toStoredKey(table, key)) ?? null),
  }),

  "owners.remove-signatories": inTransaction((tx, { body: { signatory_hashes: hashes, cluster_id } }) => {
    let removedCount = 0;
    for (const hash of new Set(hashes)) {
      const key = buildSignatoryKey(cluster_id, hash);
      if (!tx.get(signatories, key)) continue;
      tx.delete(signatories, key);
      removedCount += 1;
    }
    return { removed: removedCount };
  }),
} satisfies ControlHandlers;

/** Returns the key of an identifier in its table (emulator/router/mapping/tables.ts). */
function toStoredKey(table: MappingTable, identifier: string): string {
  if (table === "user_codes") return toUserCodeKey(identifier);
  if (table !== "external_integrations" || identifier.startsWith(buildIntegrationKey(""))) return identifier;
  return buildIntegrationKey(identifier);
}

/** The possible kinds of an identifier, in the look-up order of the router (DECISIONS.md, R14). */
function listCandidates(input: string) {
  const identifier = isEmailHash(input) ? input.toLowerCase() : input;
  const keys = [
    ["cluster_clients", identifier],
    ["cluster_emails", identifier],
    ["cluster_emails", hashEmail(identifier)],
    ["user_codes", toUserCodeKey(identifier)],
    ["creator_tokens", identifier],
    ["counterparty_tokens", identifier],
    ["chat_a_teams", identifier],
    ["external_integrations", identifier],
    ["external_integrations", buildIntegrationKey(identifier)],
    ["signatories", identifier],
    ["signatories", hashEmail(identifier)],
  ] as const;
  return keys.map(([table, key]) => ({ table, key }));
}
