import { deliveredRetentionMs, failuresUntilDisabled, type RetrySchedule } from "../../src/api/webhook-retries.ts";
import type { Settings } from "../domain/settings.ts";
import type { Workspace } from "../domain/workspaces.ts";
import { maxRetentionMs } from "../store/retention.ts";

export { failuresUntilDisabled } from "../../src/api/webhook-retries.ts";

/** The retry schedule of a workspace. Undefined if the workspace was removed. */
export const getRetrySchedule = (
  workspace: Pick<Workspace, "retry_schedule"> | undefined,
  { retrySchedule }: Pick<Settings, "retrySchedule">,
): RetrySchedule => workspace?.retry_schedule ?? retrySchedule;

/** The number of attempts of a webhook that may be in flight: a dead receiver gets at most six (DECISIONS.md, C18). */
export const getCapacity = (failureCount: number): number => Math.max(1, failuresUntilDisabled - failureCount);

/** When the record of a final delivery may be dropped (DECISIONS.md, C21). */
export const getRetentionEnd = (outcome: "delivered" | "other", at: number): number =>
  at + (outcome === "delivered" ? deliveredRetentionMs : maxRetentionMs);
