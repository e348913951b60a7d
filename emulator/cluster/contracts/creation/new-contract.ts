import type { Transaction } from "../../../store/port.ts";
import type { AuthenticatedMember } from "../../context.ts";
import { type Contract, contracts } from "../rows.ts";

type NewContract = Pick<Contract, "name" | "kind" | "contract_type_id"> & Partial<Contract>;

/** The lifecycle sets the status of the contract and stores it. */
export function createContract(
  tx: Transaction,
  { workspace, user }: AuthenticatedMember,
  at: number,
  fields: NewContract,
): Contract {
  return {
    id: tx.next("contract"),
    cluster_id: workspace.cluster_id,
    workspace_id: workspace.id,
    status: "DRAFT",
    counterparty_review: false,
    contract_data: {},
    ...{ held_from: null, template_id: null, entity_id: null, intake_form: null, external_metadata: null, note: null },
    ...{ counterparties: [], signatories: [], reviews: [], approvals: [] },
    ...{ versions: [], parents: [], supporting_documents: [] },
    ...{ created_by: user.id, business_user_id: user.id, created_at: at, updated_at: at },
    ...{ sent_to_counterparty_at: null, sent_for_signature_at: null, executed_at: null, deleted_at: null },
    ...fields,
  };
}

/** For changes that do not affect the status, which only the lifecycle changes. */
export function storeContractChange(tx: Transaction, row: Contract, at: number, change: Partial<Contract>): Contract {
  const after = { ...row, ...change, updated_at: at };
  tx.put(contracts, after);
  return after;
}
