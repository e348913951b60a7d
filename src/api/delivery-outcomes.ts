/** Outcomes of a delivery that was skipped without an attempt. */
export const skippedOutcomes = ["skipped_disabled", "skipped_deleted", "skipped_not_allowed"] as const;

/**
 * Outcomes of a delivery. `waiting`: no attempt yet. `retrying`: failed, and another attempt is planned. Both become
 * `skipped_disabled` if the webhook is disabled when the attempt is due (DECISIONS.md, C18). The others are final.
 */
export const deliveryOutcomes = ["waiting", "retrying", "delivered", "failed", ...skippedOutcomes] as const;
