import { isDeepStrictEqual } from "node:util";
import type { showProcessMetrics } from "../../../src/api/contracts/contract-details.ts";
import type { Fail } from "../../../src/api/failures.ts";
import type { ResultOf } from "../../../src/api/operation.ts";
import { toIsoSeconds } from "../../../src/base/clock.ts";
import { type ContractType, contractTypes, templates } from "../../domain/workspaces.ts";
import { inTransaction } from "../../http/handler.ts";
import type { Transaction, View } from "../../store/port.ts";
import type { CallerContext, ClusterHandlers } from "../context.ts";
import { reportUnknownAnswers, validateAnswers } from "../templates/answers.ts";
import { toOrgUser } from "../workspace/users.ts";
import { findActiveUser, formatRowNotFound } from "../workspace/workspace-rows.ts";
import { requireVisibleContract } from "./access.ts";
import { emitContractEvent, findPendingParty, toPerformer } from "./records.ts";
import { type Contract, contracts, requireContract, requireContractByNumber, storeContractChange } from "./rows.ts";

/** Handlers for the data that is stored next to a contract (DECISIONS.md, F22). */
export const contractDetailHandlers = {
  "contract-details.update-data": inTransaction((tx, { params, body }, { clock, caller, fail, finding }) => {
    const row = requireContract(tx, caller, params.composite_id, fail);
    if (row.status === "EXECUTED") return fail("contract-data-executed");
    const isEditable = row.status === "DRAFT" || row.status === "REDLINING";
    if (row.kind !== "TEMPLATE_CONTRACT" || !isEditable) return fail("contract-data-closed");
    const template = row.template_id === null ? undefined : tx.get(templates, row.template_id);
    const questions = template?.attributes ?? [];
    reportUnknownAnswers(finding, "data.", questions, body.data);
    const problems = validateAnswers(questions, body.data, { partial: true });
    if (problems) return fail("invalid-fields", { data: problems });

    const data = { ...row.contract_data, ...body.data };
    if (!isDeepStrictEqual(data, row.contract_data)) {
      storeAnswers(tx, { clock, caller }, row, { contract_data: data });
    }
    return { data };
  }),

  "contract-details.notes": (input, { store, caller, fail }) =>
    toNoteRecord(requireVisibleContract(store, caller, input, fail)),

  "contract-details.put-note": inTransaction((tx, { params, body }, { clock, caller, fail }) => {
    const row = requireContract(tx, caller, params.contract_id, fail);
    if (params.note_id !== toNoteRecord(row).id) return fail("not-found");
    const note = { text: body.text, note_tag: body.note_tag?.name ?? null };
    return toNoteRecord(storeContractChange(tx, row, clock.now(), { note }));
  }),

  "contract-details.business-user": inTransaction((tx, { params, body }, { clock, caller, fail }) => {
    const row = requireContractByNumber(tx, caller, params.contract_id, () => fail("contract-not-found"));
    const user = findActiveUser(tx, caller.workspace, body.user_id);
    if (!user) return fail("invalid-fields", { user_id: [formatRowNotFound(body.user_id)] });
    storeContractChange(tx, row, clock.now(), { business_user_id: user.id });
    return { user_id: user.id, contract_id: row.id, type: "BUSINESS" as const };
  }),

  "contract-details.relate": inTransaction((tx, { params, body }, { clock, caller, fail }) => {
    const row = requireContractByNumber(tx, caller, params.contract_id, fail);
    const relatedContract = requireContractByNumber(tx, caller, body.related_contract_id, () =>
      fail("invalid-fields", { related_contract_id: [formatRowNotFound(body.related_contract_id)] }),
    );
    // PARENT points to the other contract. The other kinds point to the contract that depends on this one.
    const [parent, child] = body.relation_type === "PARENT" ? [relatedContract, row] : [row, relatedContract];
    if (isDescendant(tx, parent, child.id)) return fail("circular-relation");
    const relation = { contract_id: parent.id, relation_type: body.relation_type };
    storeContractChange(tx, child, clock.now(), { parents: [...child.parents, relation] });
    return body;
  }),

  "contract-details.process-metrics": ({ params }, { store, caller, fail }) => {
    const row = requireContractByNumber(store, caller, params.contract_id, () => fail("contract-not-found"));
    return buildProcessMetrics(row);
  },

  "intake-form.update": inTransaction((tx, { params, body }, { clock, caller, fail, finding }) => {
    const row = requireContract(tx, caller, params.composite_id, fail);
    const type = tx.get(contractTypes, row.contract_type_id);
    requireOpen(row, type, fail);
    const questions = type?.intake_form ?? [];
    reportUnknownAnswers(finding, "", questions, body);
    const problems = validateAnswers(questions, body, { partial: true });
    if (problems) return fail("invalid-fields", problems);

    const at = clock.now();
    const { data: previousData = {}, created_at = at } = row.intake_form ?? {};
    const data = { ...previousData, ...body };
    if (isDeepStrictEqual(data, previousData)) return { data, created: toIsoSeconds(created_at) };
    storeAnswers(tx, { clock, caller }, row, { intake_form: { data, created_at: at } });
    return { data, created: toIsoSeconds(at) };
  }),

  "intake-form.responses": ({ params, query }, { store, caller, fail }) => {
    const row = requireContractByNumber(store, caller, params.contract_id, fail);
    const creator = toOrgUser(store, row.created_by);
    const isTemplate = query.questionnaire_type === "TEMPLATE";
    const answers = isTemplate ? row.contract_data : row.intake_form?.data;
    const createdAt = isTemplate ? row.created_at : row.intake_form?.created_at;
    const response = { created_by: creator.name, org_name: caller.workspace.name };
    return {
      questionnaire_response_data: answers ?? {},
      respondents: createdAt === undefined ? [] : [{ created_at: toIsoSeconds(createdAt), ...response }],
    };
  },
} satisfies ClusterHandlers;

function storeAnswers(
  tx: Transaction,
  { clock, caller }: CallerContext,
  row: Contract,
  change: Pick<Contract, "contract_data"> | Pick<Contract, "intake_form">,
): void {
  const at = clock.now();
  const after = storeContractChange(tx, row, at, change);
  emitContractEvent(tx, { clock, performer: toPerformer(caller), at }, "CONTRACT_DATA_UPDATED", after);
}

/** Each contract has one note, which is empty at first. The note's id is the contract's number. */
const toNoteRecord = ({ id, note }: Contract) => ({
  id,
  text: note?.text ?? "",
  ...(note?.note_tag != null && { note_tag: note.note_tag }),
});

/** A contract counts as its own descendant. Each contract on the path is read once. */
function isDescendant(view: View, row: Contract, ancestorId: number): boolean {
  const visitedIds = new Set([row.id]);
  const queue = [row];
  for (let next = queue.pop(); next; next = queue.pop()) {
    if (next.id === ancestorId) return true;
    for (const { contract_id } of next.parents) {
      if (visitedIds.has(contract_id)) continue;
      visitedIds.add(contract_id);
      const parent = view.get(contracts, contract_id);
      if (parent) queue.push(parent);
    }
  }
  return false;
}

/** Returns the progress of a contract (DECISIONS.md, F22). */
const buildProcessMetrics = (row: Contract): ResultOf<typeof showProcessMetrics> => ({
  contract_status: row.status,
  type_of_workflow: row.kind === "TEMPLATE_CONTRACT" ? "TEMPLATE_WORKFLOW" : "UPLOAD_WORKFLOW",
  pending_with: findPendingParty(row) ?? null,
  contract_sent_to_cp_datetime: formatTime(row.sent_to_counterparty_at),
  marked_for_signature_datetime: formatTime(row.sent_for_signature_at),
  contract_executed_datetime: formatTime(row.executed_at),
  contract_signed_by_signatory_list: row.signatories.flatMap(({ is_counterparty, email, action }) =>
    action?.is_success
      ? [{ is_creator_party: !is_counterparty, signed_datetime: toIsoSeconds(action.at), signatory_email: email }]
      : [],
  ),
  contract_turns: { no_of_turns: row.reviews.filter((review) => review.by === "counterparty").length },
});

/** Reports whether the progress response differs between two versions of a contract (DECISIONS.md, C23). */
export const haveMetricsChanged = (before: Contract, after: Contract): boolean =>
  JSON.stringify(buildProcessMetrics(before)) !== JSON.stringify(buildProcessMetrics(after));

const formatTime = (at: number | null): string | null => (at === null ? null : toIsoSeconds(at));

/** DECISIONS.md, C14 */
function requireOpen(row: Contract, type: ContractType | undefined, fail: Fail<"intake-form-closed">): void {
  const isPaper = row.kind === "THIRD_PARTY_CONTRACT" || row.kind === "SIGN_CONTRACT";
  if (!isPaper || !type?.editable_response)
    fail("intake-form-closed", { reason: "its workflow has no editable response" });
  if (row.status === "REDLINING") return;
  if (row.kind !== "SIGN_CONTRACT" || row.status !== "SIGN") {
    fail("intake-form-closed", { reason: `the contract is in status ${row.status}` });
  }
  if (row.signatories.some(({ action }) => action !== null)) {
    fail("intake-form-closed", { reason: "a signatory has signed" });
  }
}
