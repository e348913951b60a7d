import { computeHmacText, isEqualInConstantTime } from "../../../src/base/hmac.ts";
import { toAddressKey } from "../../../src/schemes/email-hash.ts";
import { clusterRows } from "../../domain/clusters.ts";
import type { View } from "../../store/port.ts";
import { type Contract, formatCompositeId } from "./rows.ts";

/** Returns the path of a contract's public page at its cluster (DECISIONS.md, C25). */
export const buildContractPath = (contract: Contract): string => `/contracts/${formatCompositeId(contract)}`;

/**
 * Returns the path of the page on which a person reads a contract and acts on it. The link is the credential, because
 * there is no sign-in. Its key is derived from the contract, the address and the cluster's key, so it is not stored and
 * survives restarts (DECISIONS.md, C25).
 */
export async function buildRecipientPath(view: View, contract: Contract, email: string): Promise<string> {
  return (await createRecipientPathBuilder(view, contract))(email);
}

/** Returns a function that builds the paths for several people of one contract. */
export async function createRecipientPathBuilder(view: View, contract: Contract): Promise<(email: string) => string> {
  const keyFor = await createKeyMaker(view, contract);
  return (email) => `${buildContractPath(contract)}?${buildQuery(email, keyFor)}`;
}

/** Returns the query of a person's link, for other pages about the same person. */
export const buildRecipientQuery = async (view: View, contract: Contract, email: string): Promise<string> =>
  buildQuery(email, await createKeyMaker(view, contract));

/** Reports whether `given` is the key in this person's links. */
export const isRecipientKey = async (view: View, contract: Contract, email: string, given: string): Promise<boolean> =>
  isEqualInConstantTime(given, (await createKeyMaker(view, contract))("link", toAddressKey(email)));

/** Binds a form of a person's page to the state that the page showed. */
export const createRecipientCsrfToken = async (
  view: View,
  contract: Contract,
  email: string,
  shown: string,
): Promise<string> => (await createKeyMaker(view, contract))("form", toAddressKey(email), shown);

type KeyMaker = (...about: readonly string[]) => string;

function buildQuery(email: string, keyFor: KeyMaker): string {
  const person = toAddressKey(email);
  return String(new URLSearchParams({ person, key: keyFor("link", person) }));
}

/** The creation time distinguishes contracts with the same number, before and after a reset. */
async function createKeyMaker(view: View, { id, cluster_id, created_at }: Contract): Promise<KeyMaker> {
  const cluster = await view.get(clusterRows, cluster_id);
  if (!cluster) throw new Error(`A contract refers to cluster ${cluster_id}, which does not exist`);
  return (...about) => computeHmacText("sha256", cluster.key, JSON.stringify([id, created_at, ...about]));
}

export const findPartyOfContact = (
  { counterparties }: Contract,
  email: string,
): Contract["counterparties"][number] | undefined =>
  counterparties.find(({ poc }) => poc && toAddressKey(poc.email) === toAddressKey(email));
