import type { showProcessMetrics } from "../../../src/api/contracts/contract-details.ts";
import type { ResultOf } from "../../../src/api/operation.ts";
import { isoSeconds } from "../../../src/base/clock.ts";
import { pendingWith } from "./pending-with.ts";
import type { Contract } from "./rows.ts";

/** How far a contract has come (DECISIONS.md, F22). */
export const processMetrics = (row: Contract): ResultOf<typeof showProcessMetrics> => ({
  contract_status: row.status,
  type_of_workflow: row.kind === "TEMPLATE_CONTRACT" ? "TEMPLATE_WORKFLOW" : "UPLOAD_WORKFLOW",
  pending_with: pendingWith(row) ?? null,
  contract_sent_to_cp_datetime: timeOf(row.sent_to_counterparty_at),
  marked_for_signature_datetime: timeOf(row.sent_for_signature_at),
  contract_executed_datetime: timeOf(row.executed_at),
  contract_signed_by_signatory_list: row.signatories.flatMap(({ is_counterparty, email, action }) =>
    action?.is_success
      ? [{ is_creator_party: !is_counterparty, signed_datetime: isoSeconds(action.at), signatory_email: email }]
      : [],
  ),
  contract_turns: { no_of_turns: row.reviews.filter((review) => review.by === "counterparty").length },
});

/** Whether that answer of a contract is another one (DECISIONS.md, C23). */
export const metricsDiffer = (before: Contract, after: Contract): boolean =>
  JSON.stringify(processMetrics(before)) !== JSON.stringify(processMetrics(after));

const timeOf = (at: number | null): string | null => (at === null ? null : isoSeconds(at));
