import { computeHmacText, isEqualInConstantTime } from "../../../src/base/hmac.ts";
import { toAddressKey } from "../../../src/schemes/email-hash.ts";
import type { View } from "../../store/port.ts";
import { clusterRows } from "../../world/clusters.ts";
import { type Contract, compositeId } from "./rows.ts";

/** Public page of a contract, at its cluster (DECISIONS.md, C25). */
export const contractPath = (contract: Contract): string => `/contracts/${compositeId(contract)}`;

/**
 * Page on which a person reads a contract and acts on it. The link is the authority, since there is no sign-in: its key
 * is derived from the contract, the address and the cluster's own key, so that it is stored nowhere and outlives
 * restarts (DECISIONS.md, C25).
 */
export async function personPath(view: View, contract: Contract, email: string): Promise<string> {
  return (await personPaths(view, contract))(email);
}

/** The same for several people of one contract. */
export async function personPaths(view: View, contract: Contract): Promise<(email: string) => string> {
  const keyFor = await keyMaker(view, contract);
  return (email) => `${contractPath(contract)}?${queryOf(email, keyFor)}`;
}

/** Data about the person in such a link, for other pages about the same. */
export const personQuery = async (view: View, contract: Contract, email: string): Promise<string> =>
  queryOf(email, await keyMaker(view, contract));

/** Whether that is the key of this person's links. */
export const isPersonsKey = async (view: View, contract: Contract, email: string, given: string): Promise<boolean> =>
  isEqualInConstantTime(given, (await keyMaker(view, contract))("link", toAddressKey(email)));

/** Binds a form of a person's page to the state that the page showed them. */
export const recipientCsrfToken = async (
  view: View,
  contract: Contract,
  email: string,
  shown: string,
): Promise<string> => (await keyMaker(view, contract))("form", toAddressKey(email), shown);

type KeyMaker = (...about: readonly string[]) => string;

function queryOf(email: string, keyFor: KeyMaker): string {
  const person = toAddressKey(email);
  return String(new URLSearchParams({ person, key: keyFor("link", person) }));
}

/** The time of creation distinguishes contracts that got one number, before a reset and after it. */
async function keyMaker(view: View, { id, cluster_id, created_at }: Contract): Promise<KeyMaker> {
  const cluster = await view.get(clusterRows, cluster_id);
  if (!cluster) throw new Error(`A contract refers to cluster ${cluster_id}, which does not exist`);
  return (...about) => computeHmacText("sha256", cluster.key, JSON.stringify([id, created_at, ...about]));
}

export const partyOfContact = (
  { counterparties }: Contract,
  email: string,
): Contract["counterparties"][number] | undefined =>
  counterparties.find(({ poc }) => poc && toAddressKey(poc.email) === toAddressKey(email));
