import { toAddressKey } from "../../../src/base/email-address.ts";
import { computeHmacText, isEqualInConstantTime } from "../../../src/base/hmac.ts";
import { clusterRows } from "../../domain/clusters.ts";
import type { View } from "../../store/port.ts";
import { type Contract, formatCompositeId } from "./rows.ts";

/** Returns the path of a contract's public page at its cluster (DECISIONS.md, C25). */
export const buildContractPath = (contract: Contract): string => `/contracts/${formatCompositeId(contract)}`;

/** Derived keys survive restarts. The creation time distinguishes contracts before and after a reset. */
export function readRecipientLinks(view: View, contract: Contract) {
  const { id, cluster_id, created_at } = contract;
  const cluster = view.get(clusterRows, cluster_id);
  if (!cluster) throw new Error(`A contract refers to cluster ${cluster_id}, which does not exist`);
  const createKey = (...fields: readonly string[]) =>
    computeHmacText("sha256", cluster.key, JSON.stringify([id, created_at, ...fields]));
  const createLinkKey = (email: string) => createKey("link", toAddressKey(email));
  const buildQuery = (email: string) =>
    String(new URLSearchParams({ person: toAddressKey(email), key: createLinkKey(email) }));
  return {
    buildQuery,
    /** The link to a person's page is the credential (DECISIONS.md, C25). */
    buildPath: (email: string) => `${buildContractPath(contract)}?${buildQuery(email)}`,
    isKey: (email: string, key: string) => isEqualInConstantTime(key, createLinkKey(email)),
    /** Creates a token that binds a form to the state that the page showed. */
    createCsrfToken: (email: string, pageState: string) => createKey("form", toAddressKey(email), pageState),
  };
}
