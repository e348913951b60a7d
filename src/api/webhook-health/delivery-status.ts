/** What decides what will come of a delivery. */
interface Undecided {
  readonly outcome: string;
  /** Null: none is planned. */
  readonly next_attempt_at: string | number | null;
  readonly webhook_status: string;
}

/** The same as rows have it: in virtual milliseconds. */
type Due = Pick<Undecided, "outcome"> & { readonly next_attempt_at: number | null };

/** While its webhook is disabled or deleted, the attempt that it waits for is skipped (DECISIONS.md, C18). */
export const isToBeSkipped = ({ next_attempt_at: next, webhook_status: status }: Undecided): boolean =>
  next !== null && status !== "ACTIVE";

/** It did not arrive, and does not come by itself: it has to be sent again by hand. */
export const isUndelivered = (delivery: Undecided): boolean =>
  delivery.outcome === "failed" || delivery.outcome.startsWith("skipped_") || isToBeSkipped(delivery);

/** Its last attempt failed, and the next one is still to come: neither due now nor under way. */
export const isAwaitingRetry = ({ outcome, next_attempt_at: next }: Due, now: number): boolean =>
  outcome === "retrying" && next !== null && next > now;

/** How a delivery stands, in words that every list and view uses. `attempts`: how many were made, resends included. */
export function formatDeliveryStatus(delivery: Undecided, attempts: number): string {
  if (isToBeSkipped(delivery)) return "will be skipped";
  switch (delivery.outcome) {
    case "skipped_disabled":
      return "skipped: webhook disabled";
    case "skipped_deleted":
      return "skipped: webhook deleted";
    case "skipped_not_allowed":
      return attempts === 0 ? "not sent: address not allowed" : "skipped: address was not allowed";
    default:
      return delivery.outcome;
  }
}
