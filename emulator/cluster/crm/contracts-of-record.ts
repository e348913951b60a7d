import type { View } from "../../store/port.ts";
import { contractPath } from "../contracts/links.ts";
import { type Contract, contracts, inWorkspace } from "../contracts/rows.ts";
import type { ClusterWorld } from "../world.ts";

/** The record beside which a CRM shows the app. */
export interface CrmRecord {
  readonly id: string;
  /** CONTACT, DEAL, … where the CRM says so. */
  readonly type: string | undefined;
}

/** DECISIONS.md, R29 */
const cardsAtMost = 5;
/** So many contracts that name a record's id are looked at, for types may differ. */
const lookedAt = 50;

/**
 * The contracts whose external metadata names the record, of these workspaces, newest first. Other workspaces of the cluster
 * may be connected to the same CRM, and what they have is not for this person (DECISIONS.md, R29).
 */
export async function contractsOfRecord(
  view: View,
  workspaceIds: readonly number[],
  record: CrmRecord,
): Promise<Contract[]> {
  const found: Contract[] = [];
  for (const id of workspaceIds) {
    const equals = inWorkspace(id, record.id);
    found.push(...(await view.list(contracts, { by: "external", equals, reverse: true, limit: lookedAt })));
  }
  return found
    .filter((row) => fits(record.type, row.external_metadata?.record_type))
    .sort((a, b) => b.id - a.id)
    .slice(0, cardsAtMost);
}

/** Types differ only where both sides name one. */
const fits = (asked: string | undefined, named: string | undefined): boolean =>
  asked === undefined || named === undefined || asked.toLowerCase() === named.toLowerCase();

/** The page of a contract (DECISIONS.md, C25). */
export const pageOf = ({ cluster }: Pick<ClusterWorld, "cluster">, row: Contract): string =>
  `${cluster.url}${contractPath(row)}`;
