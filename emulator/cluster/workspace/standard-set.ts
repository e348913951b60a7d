import {
  type ContractType,
  contractTypes,
  type Role,
  roles,
  type Template,
  templates,
  type Workflow,
  type Workspace,
  workflows,
} from "../../domain/workspaces.ts";
import type { Rows, Transaction } from "../../store/port.ts";
import { freeId } from "./free-id.ts";

/** Contents of every new workspace. Rows refer to each other by their ids here; the copies get new ids. */
export interface StandardSet extends Pick<Workspace, "organization_types" | "jurisdictions"> {
  readonly roles: readonly Role[];
  readonly contract_types: readonly ContractType[];
  readonly templates: readonly Template[];
  readonly workflows: readonly Workflow[];
}

/** Adds the roles, contract types, templates and workflows of a workspace. */
export async function addStandardSet(tx: Transaction, set: StandardSet, workspace_id: number): Promise<void> {
  const roleIds = await assignIds(tx, roles, "role", set.roles);
  const typeIds = await assignIds(tx, contractTypes, "contract_type", set.contract_types);
  const templateIds = await assignIds(tx, templates, "template", set.templates);
  const workflowIds = await assignIds(tx, workflows, "workflow", set.workflows);
  for (const row of set.roles) tx.put(roles, { ...row, id: roleIds.get(row.id)!, workspace_id });
  for (const row of set.contract_types) {
    const { default_reviewer_role_id: reviewer } = row;
    const default_reviewer_role_id = reviewer === null ? null : roleIds.get(reviewer)!;
    tx.put(contractTypes, { ...row, id: typeIds.get(row.id)!, workspace_id, default_reviewer_role_id });
  }
  for (const row of set.templates) {
    const contract_type_id = typeIds.get(row.contract_type_id)!;
    tx.put(templates, { ...row, id: templateIds.get(row.id)!, workspace_id, contract_type_id });
  }
  for (const row of set.workflows) {
    const id = workflowIds.get(row.id)!;
    tx.put(workflows, { ...row, id, workspace_id, frozen_version: row.frozen_version && { id: getFirstVersion(id) } });
  }
}

/** Numbered as in the demo seed. */
const getFirstVersion = (workflowId: number): number => workflowId * 10;

async function assignIds<Row extends { readonly id: number }>(
  tx: Transaction,
  collection: Rows<Row, string, number>,
  sequence: string,
  of: readonly Row[],
): Promise<ReadonlyMap<number, number>> {
  const found = new Map<number, number>();
  for (const { id } of of) found.set(id, await freeId(tx, collection, sequence));
  return found;
}
