import { hmac, sameSecret } from "../../../src/base/hmac.ts";
import type { View } from "../../store/port.ts";
import { clusterRows } from "../../world/clusters.ts";
import { type Contract, compositeId } from "./rows.ts";

/** Where a contract is shown to anybody, at its cluster (DECISIONS.md, C25). */
export const contractPath = (contract: Contract): string => `/contracts/${compositeId(contract)}`;

/**
 * Where a person reads a contract and does what is theirs to do. The link is the authority, since nobody signs in: its
 * key is made of the contract, the address and the cluster's own key, so that it is kept nowhere and outlives restarts
 * (DECISIONS.md, C25).
 */
export async function personPath(view: View, contract: Contract, email: string): Promise<string> {
  return `${contractPath(contract)}?${await personQuery(view, contract, email)}`;
}

/** What such a link says of the person, for other pages about the same. */
export async function personQuery(view: View, contract: Contract, email: string): Promise<string> {
  const person = addressOf(email);
  return String(new URLSearchParams({ person, key: await madeKey(view, contract, "link", person) }));
}

/** Whether that is the key of this person's links. */
export const isPersonsKey = async (view: View, contract: Contract, email: string, given: string): Promise<boolean> =>
  sameSecret(given, await madeKey(view, contract, "link", addressOf(email)));

/** What binds a form of a person's page to what the page showed them. */
export const formTokenOf = (view: View, contract: Contract, email: string, shown: string): Promise<string> =>
  madeKey(view, contract, "form", addressOf(email), shown);

/** One address, however it is written. */
export const addressOf = (email: string): string => email.trim().toLowerCase();

/** The time of creation tells apart contracts that got one number, before a reset and after it. */
async function madeKey(view: View, { id, cluster_id, created_at }: Contract, ...about: string[]): Promise<string> {
  const cluster = await view.get(clusterRows, cluster_id);
  if (!cluster) throw new Error(`A contract refers to cluster ${cluster_id}, which does not exist`);
  return hmac("sha256", cluster.key, JSON.stringify([id, created_at, ...about])).toString("base64url");
}

export const partyOfContact = (
  { counterparties }: Contract,
  email: string,
): Contract["counterparties"][number] | undefined =>
  counterparties.find(({ poc }) => poc && addressOf(poc.email) === addressOf(email));
