import * as z from "zod";
import { type Activity, activities } from "../../src/api/activities.ts";
import { dictionary } from "../../src/api/dictionary.ts";
import { rows, type Transaction } from "../store/port.ts";
import { storedTime } from "../store/stored-time.ts";

/** DECISIONS.md, F20. `DISABLED_BY_ERROR` is the automatic disabling at six failures (DECISIONS.md, C18). */
export const SubscriptionStatus = z.enum(["ACTIVE", "DISABLED_BY_USER", "DISABLED_BY_ERROR"]);
export type SubscriptionStatus = z.infer<typeof SubscriptionStatus>;

/** A webhook of a workspace: where to tell which activities. */
export const Subscription = z.strictObject({
  id: z.int(),
  workspace_id: z.int(),
  cluster_id: z.string(),
  title: z.string(),
  description: z.string().nullable(),
  url: z.string(),
  only_for_activities: z.array(z.enum(activities)),
  custom_headers: dictionary(z.string()),
  status: SubscriptionStatus,
  /** Attempts without 2xx since the last 2xx, over all its deliveries (DECISIONS.md, C18). */
  failure_count: z.int(),
  /** Since when, and by what (`request:12`, `attempt:3.6`); null while it is active, or where nothing is known of it. */
  disabled: z.strictObject({ at: storedTime(z.int()), by: z.string().nullable() }).nullable(),
  /** Id of the user who made it. */
  created_by: z.int(),
  /** Virtual milliseconds. */
  created_at: storedTime(z.int()),
});
export type Subscription = z.infer<typeof Subscription>;

export const subscriptions = rows<Subscription, "workspace" | "wants">({
  name: "webhook_subscriptions",
  schema: Subscription,
  version: 2,
  migrate: [(row) => ({ ...row, disabled: null })],
  key: (row) => row.id,
  numbers: { webhook: (row) => row.id },
  indexes: {
    workspace: (row) => row.workspace_id,
    wants: (row) => row.only_for_activities.map((activity) => wants(row.workspace_id, activity)),
  },
});

/** Finds the subscriptions of a workspace that want an activity. */
export const wants = (workspaceId: number, activity: Activity): string => `${workspaceId}:${activity}`;

/** What the attempts of a subscription share in the schedule: a capacity of `6 − counter` (DECISIONS.md, C18). */
export const concurrencyKeyOf = (webhookId: number): string => `webhook:${webhookId}`;

/**
 * What a person does in the application's settings: enabling sets the counter to 0 and resends nothing, disabling
 * lets what comes due be skipped (DECISIONS.md, C18). Returns the row; undefined when there is none. `at`: virtual
 * milliseconds.
 */
export async function switchSubscription(
  tx: Transaction,
  id: number,
  on: boolean,
  at: number,
): Promise<Subscription | undefined> {
  const row = await tx.get(subscriptions, id);
  if (!row || (!on && row.status === "DISABLED_BY_USER")) return row;
  const changed: Subscription = on
    ? { ...row, status: "ACTIVE", failure_count: 0, disabled: null }
    : { ...row, status: "DISABLED_BY_USER", disabled: { at, by: tx.cause?.id ?? null } };
  tx.put(subscriptions, changed);
  return changed;
}
