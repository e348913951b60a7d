import * as z from "zod";
import { contractStatuses } from "../../../src/api/contracts/lifecycle.ts";
import { ExternalMetadata } from "../../../src/api/contracts/shapes.ts";
import type { Fail } from "../../../src/api/failures.ts";
import { dictionary } from "../../../src/api/shapes.ts";
import { Blob } from "../../store/blobs.ts";
import { defineRows, storedTime, type Transaction, type View } from "../../store/port.ts";
import type { AuthenticatedMember } from "../context.ts";

/** Contract kinds that the public routes can create, as webhook payloads name them (DECISIONS.md, F9). */
const contractKinds = ["TEMPLATE_CONTRACT", "THIRD_PARTY_CONTRACT", "SIGN_CONTRACT", "EXECUTED_CONTRACT"] as const;

/** A signatory with their status. Times are in virtual milliseconds. */
export const ContractSignatory = z.strictObject({
  id: z.int(),
  name: z.string(),
  email: z.string(),
  is_counterparty: z.boolean(),
  counterparty_name: z.string().nullable(),
  title: z.string(),
  note: z.string().nullable(),
  /** Null if the person can sign at any time. */
  sign_order: z.int().nullable(),
  created_at: storedTime(z.number()),
  sent_at: storedTime(z.number()).nullable(),
  action: z
    .strictObject({ is_success: z.boolean(), notes: z.string().nullable(), at: storedTime(z.number()) })
    .nullable()
    .describe("Null until acted on; is_success false: declined"),
});
export type ContractSignatory = z.infer<typeof ContractSignatory>;

/** A counterparty in the contract. `counterparty_id` is its row in the workspace's list. */
export const ContractParty = z.strictObject({
  counterparty_id: z.int(),
  is_individual: z.boolean(),
  /** Name of the organization, or the first and last name of an individual. */
  name: z.string(),
  organization_type: z.string().nullable(),
  poc: z.strictObject({ first_name: z.string(), last_name: z.string(), email: z.string() }).nullable(),
  organization_details: dictionary(z.unknown()).nullable(),
});
export type ContractParty = z.infer<typeof ContractParty>;

/** A review, either `internal` or by the counterparty. An open review blocks signing. */
export const ContractReview = z.strictObject({
  id: z.int(),
  by: z.enum(["internal", "counterparty"]),
  reviewer_user_id: z.int().nullable(),
  reviewer_role_id: z.int().nullable(),
  description: z.string(),
  requested_at: storedTime(z.number()),
  completed_at: storedTime(z.number()).nullable(),
});
export type ContractReview = z.infer<typeof ContractReview>;

/** An approval (DECISIONS.md, F22). A PENDING approval blocks signing of a contract under review. */
export const ContractApproval = z.strictObject({
  id: z.int(),
  name: z.string(),
  notes: z.string(),
  approver_user_id: z.int().nullable(),
  approver_role_id: z.int().nullable(),
  order: z.int().nullable(),
  status: z.enum(["NOT_STARTED", "PENDING", "REJECTED", "SUGGESTED", "APPROVED", "SKIPPED"]),
  created_by: z.int(),
  created_at: storedTime(z.number()),
  actions: z.array(
    z.strictObject({
      status: z.enum(["APPROVED", "REJECTED", "SUGGESTED", "SKIPPED"]),
      notes: z.string().nullable(),
      at: storedTime(z.number()),
    }),
  ),
});
export type ContractApproval = z.infer<typeof ContractApproval>;

/** A document of the contract, whose bytes are a blob. The newest version is last. */
export const DocumentVersion = z.strictObject({
  id: z.int(),
  file_name: z.string(),
  content_type: z.string(),
  blob: Blob,
  is_executed_version: z.boolean(),
  uploaded_at: storedTime(z.number()),
  uploaded_by: z.int(),
});
export type DocumentVersion = z.infer<typeof DocumentVersion>;

export const Contract = z.strictObject({
  id: z.int(),
  cluster_id: z.string(),
  workspace_id: z.int(),
  name: z.string(),
  kind: z.enum(contractKinds),
  status: z.enum(contractStatuses),
  /** Status after a resume. Null unless the contract is on hold. */
  held_from: z.enum(contractStatuses).nullable(),
  contract_type_id: z.int(),
  template_id: z.int().nullable(),
  /** True if sending first shares the contract with the counterparty for review (from the template). */
  counterparty_review: z.boolean(),
  entity_id: z.int().nullable(),
  contract_data: dictionary(z.unknown()),
  intake_form: z.strictObject({ data: dictionary(z.unknown()), created_at: storedTime(z.number()) }).nullable(),
  counterparties: z.array(ContractParty),
  signatories: z.array(ContractSignatory),
  reviews: z.array(ContractReview),
  approvals: z.array(ContractApproval),
  external_metadata: ExternalMetadata.nullable(),
  versions: z.array(DocumentVersion),
  note: z.strictObject({ text: z.string(), note_tag: z.string().nullable() }).nullable(),
  /** The parent contracts. This contract is their child, addendum or amendment. */
  parents: z.array(z.strictObject({ contract_id: z.int(), relation_type: z.string() })),
  supporting_documents: z.array(
    z.strictObject({
      id: z.int(),
      name: z.string(),
      file_name: z.string(),
      blob: Blob,
      created_at: storedTime(z.number()),
    }),
  ),
  created_by: z.int(),
  business_user_id: z.int(),
  created_at: storedTime(z.number()),
  updated_at: storedTime(z.number()),
  sent_to_counterparty_at: storedTime(z.number()).nullable(),
  sent_for_signature_at: storedTime(z.number()).nullable(),
  executed_at: storedTime(z.number()).nullable(),
  /** Deleted contracts are always reported as 404. */
  deleted_at: storedTime(z.number()).nullable(),
});
export type Contract = z.infer<typeof Contract>;

/** Returns an index value that is scoped to a workspace. */
export const toWorkspaceKey = (workspaceId: number, value: string | number): string => `${workspaceId} ${value}`;

/** Returns a non-negative integer as a string that sorts numerically. */
export const toSortableString = (value: number): string => String(value).padStart(16, "0");

/** Deleted contracts are still stored, but not in any index. */
const toIndexValue = <V>(row: Contract, value: V): string | undefined =>
  row.deleted_at === null ? toWorkspaceKey(row.workspace_id, String(value)) : undefined;

/** Every value except the last starts with the workspace's id. Numbers and times are sortable strings. */
export const contracts = defineRows({
  name: "contracts",
  schema: Contract,
  key: (row) => row.id,
  refersTo: ({ workspace_id, created_by, contract_type_id }) => ({
    workspace_id: { collection: "workspaces", key: workspace_id },
    created_by: { collection: "users", key: created_by },
    contract_type_id: { collection: "contract_types", key: contract_type_id },
  }),
  numbers: {
    contract: (row) => row.id,
    signatory: (row) => row.signatories.map(({ id }) => id),
    approval: (row) => row.approvals.map(({ id }) => id),
    contract_version: (row) => row.versions.map(({ id }) => id),
    supporting_document: (row) => row.supporting_documents.map(({ id }) => id),
  },
  indexes: {
    number: (row) => toIndexValue(row, toSortableString(row.id)),
    status: (row) => toIndexValue(row, row.status),
    type: (row) => toIndexValue(row, row.contract_type_id),
    party_email: (row) =>
      row.counterparties.flatMap(({ poc }) => (poc && toIndexValue(row, poc.email.toLowerCase())) ?? []),
    created: (row) => toIndexValue(row, toSortableString(row.created_at)),
    updated: (row) => toIndexValue(row, toSortableString(row.updated_at)),
    external: (row) =>
      row.external_metadata?.id === undefined ? undefined : toIndexValue(row, row.external_metadata.id),
    /** Index by the counterparty's id. The last entry is its newest contract (DECISIONS.md, C17). */
    counterparty: (row) =>
      row.deleted_at === null ? row.counterparties.map((party) => party.counterparty_id) : undefined,
  },
});

/** Selects all contracts of a workspace, oldest first. A reversed read is newest first. */
export const selectContractsOfWorkspace = (workspaceId: number) =>
  ({ by: "number", from: toWorkspaceKey(workspaceId, ""), to: toWorkspaceKey(workspaceId, "~") }) as const;

/** Returns `T-12`, or `H-12` for a contract that was executed outside of the service (DECISIONS.md, F1). */
export const formatCompositeId = (row: Pick<Contract, "id" | "kind">): string =>
  `${row.kind === "EXECUTED_CONTRACT" ? "H" : "T"}-${row.id}`;

/** Returns null if there is no such contract. */
export function readCompositeId(view: View, contractId: number | null): string | null {
  const row = view.get(contracts, contractId);
  return row ? formatCompositeId(row) : null;
}

export const formatReferenceId = (row: Pick<Contract, "id">): string => `SVC-${row.id}`;

/**
 * Rejects unknown and deleted contracts, and those of other workspaces, in the same way. A wrong or missing prefix is
 * also rejected, because such paths only accept the composite form (DECISIONS.md, C12).
 */
export function requireContract(
  view: View,
  caller: AuthenticatedMember,
  composite: string,
  fail: Fail<"not-found">,
): Contract {
  const number = /^[TH]-(\d+)$/.exec(composite)?.[1];
  const row = number === undefined ? undefined : findVisibleContract(view, caller, Number(number));
  return row && formatCompositeId(row) === composite ? row : fail("not-found");
}

/** Returns the contract of a plain integer id, for paths that contain one (DECISIONS.md, F23). */
export function requireContractByNumber(
  view: View,
  caller: AuthenticatedMember,
  id: number,
  fail: Fail<"not-found">,
): Contract {
  return findVisibleContract(view, caller, id) ?? fail("not-found");
}

function findVisibleContract(view: View, { workspace }: AuthenticatedMember, id: number): Contract | undefined {
  const row = view.get(contracts, id);
  return row && row.workspace_id === workspace.id && row.deleted_at === null ? row : undefined;
}

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
