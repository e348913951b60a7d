import type * as z from "zod";
import type { CreatedContract, ListedContract, NumberedContract } from "../../../src/api/contracts/shapes/records.ts";
import { isoSeconds } from "../../../src/base/clock.ts";
import type { View } from "../../store/port.ts";
import { contractTypes } from "../../world/workspaces.ts";
import { orgUser } from "../workspace/people.ts";
import type { ClusterWorld } from "../world.ts";
import { contractPath } from "./links.ts";
import { type Contract, compositeId, referenceId } from "./rows.ts";

type Where = Pick<ClusterWorld, "cluster">;

/** The record of creation and of the look-up by external metadata: DECISIONS.md, F10. */
export async function createdContract(
  view: View,
  where: Where,
  row: Contract,
): Promise<z.input<typeof CreatedContract>> {
  const creator = await orgUser(view, row.created_by);
  return { ...(await recordOf(view, where, row)), contract_id: row.id, created_by: creator.email };
}

/** The record of lists, uploads and the executed import. */
export async function listedContract(view: View, where: Where, row: Contract): Promise<z.input<typeof ListedContract>> {
  const { name, email } = await orgUser(view, row.created_by);
  return {
    ...(await recordOf(view, where, row)),
    created_by: name,
    created_by_user_name: name,
    created_by_user_email: email,
  };
}

/** The record of the list of version 1. */
export async function numberedContract(
  view: View,
  where: Where,
  row: Contract,
): Promise<z.input<typeof NumberedContract>> {
  const { email } = await orgUser(view, row.created_by);
  return { ...(await recordOf(view, where, row)), id: row.id, created_by: email };
}

async function recordOf(view: View, { cluster }: Where, row: Contract) {
  const type = await view.get(contractTypes, row.contract_type_id);
  return {
    id: compositeId(row),
    created: isoSeconds(row.created_at),
    contract_name: row.name,
    // DECISIONS.md, C25
    contract_link: `${cluster.url}${contractPath(row)}`,
    contract_status: row.status,
    counter_party_name: row.counterparties.map((party) => party.name).join(", "),
    contract_type_name: type?.name ?? "",
    contract_type_id: row.contract_type_id,
    created_by_workspace: row.workspace_id,
    external_metadata: row.external_metadata ?? {},
    reference_id: referenceId(row),
  };
}
