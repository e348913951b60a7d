import { emailHash, isEmailHash } from "../../src/schemes/email-hash.ts";
import { userCodeKey } from "../router/device/user-codes.ts";
import { signatories, signatoryKey } from "../router/mapping/signatories.ts";
import { findOwnersByTable } from "../router/resolve/resolve.ts";
import type { ControlHandlers } from "./context.ts";

export const ownerHandlers = {
  "owners.list": async ({ query: { identifier } }, world) => {
    const found = await findOwnersByTable(world, candidates(identifier));
    return found.map(({ table, key, cluster }) => ({ table, key, cluster_id: cluster.id }));
  },

  "owners.remove-signatories": ({ body: { signatory_hashes: hashes, cluster_id } }, { store }) =>
    store.transaction("owners.remove-signatories", async (tx) => {
      let removed = 0;
      for (const hash of new Set(hashes)) {
        const key = signatoryKey(cluster_id, hash);
        if (!(await tx.get(signatories, key))) continue;
        tx.delete(signatories, key);
        removed += 1;
      }
      return { removed };
    }),
} satisfies ControlHandlers;

/** What an identifier of unknown kind may be, in the order in which the router would look (DECISIONS.md, R14). */
function candidates(given: string) {
  const identifier = isEmailHash(given) ? given.toLowerCase() : given;
  const keys = [
    ["cluster_clients", identifier],
    ["cluster_emails", identifier],
    ["cluster_emails", emailHash(identifier)],
    ["user_codes", userCodeKey(identifier)],
    ["creator_tokens", identifier],
    ["counterparty_tokens", identifier],
    ["chat_a_teams", identifier],
    ["external_integrations", identifier],
    ["external_integrations", `CHAT_B:${identifier}`],
    ["signatories", identifier],
    ["signatories", emailHash(identifier)],
  ] as const;
  return keys.map(([table, key]) => ({ table, key }));
}
