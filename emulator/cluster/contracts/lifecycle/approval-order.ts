import type { Approval } from "../rows.ts";

const isOpen = ({ status }: Approval): boolean => status === "NOT_STARTED" || status === "PENDING";

/**
 * Asks those whose turn has come: everybody without an order, and of those with one whoever is first among the open
 * ones. Called when approvals are asked for and whenever one is completed.
 */
export function withTurnsToApprove(approvals: readonly Approval[]): Approval[] {
  const first = approvals.reduce(
    (least, each) => (isOpen(each) && each.order !== null ? Math.min(least, each.order) : least),
    Number.POSITIVE_INFINITY,
  );
  return approvals.map((approval) => {
    const hasTurn = approval.order === null || approval.order === first;
    return approval.status === "NOT_STARTED" && hasTurn ? { ...approval, status: "PENDING" } : approval;
  });
}
