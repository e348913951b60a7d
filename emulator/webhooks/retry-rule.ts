import { deliveredRetentionMs, failuresUntilDisabled } from "../../src/api/webhook-retries.ts";
import { maxRetentionMs } from "../store/retention.ts";

export { failuresUntilDisabled, nextAttemptAt } from "../../src/api/webhook-retries.ts";

/** How many attempts of a subscription may be in flight: a dead receiver gets no more than six (DECISIONS.md, C18). */
export const capacityFor = (failureCount: number): number => Math.max(1, failuresUntilDisabled - failureCount);

/** When the record of a final delivery may be dropped (DECISIONS.md, C21). */
export const retentionEnd = (outcome: "delivered" | "other", at: number): number =>
  at + (outcome === "delivered" ? deliveredRetentionMs : maxRetentionMs);
