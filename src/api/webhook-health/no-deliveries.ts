import { describeDuration } from "../../base/duration.ts";
import type { listActivities } from "../emulator/activities.ts";
import type { ResultOf } from "../operation.ts";
import { deliveredRetentionMs } from "../webhook-retries.ts";

/** What happened, by workspace and activity. */
export type ActivityHistory = ResultOf<typeof listActivities>;

interface Receiver {
  readonly workspace_id: number;
  readonly workspace: string;
  readonly only_for_activities: readonly string[];
  readonly created_at: string;
}

/** So many activities are named. */
const named = 5;

export interface ExplanationOptions {
  /** How times are written. */
  readonly at: (iso: string) => string;
  /** Virtual time, in milliseconds; undefined: not known. */
  readonly now?: number | undefined;
}

/** Why no delivery of a webhook is retained: a sentence. `happened` undefined: not read. */
export function explainNoDeliveries(
  webhook: Receiver,
  happened: ActivityHistory | undefined,
  { at, now }: ExplanationOptions,
): string {
  const { workspace_id: own, workspace, only_for_activities: subscribed, created_at: created } = webhook;
  const mayBeDropped = now !== undefined && now - Date.parse(created) > deliveredRetentionMs;
  const nothing = mayBeDropped
    ? `No deliveries in the last ${describeDuration(deliveredRetentionMs)} (the retention period)`
    : "No deliveries yet";
  const begin = `${nothing}. Subscribed to ${listed(subscribed)}`;
  if (happened === undefined) return `${begin}.`;
  const isSubscribed = ({ activity }: ActivityHistory[number]) => subscribed.includes(activity);
  const mine = happened.filter(({ workspace_id }) => workspace_id === own);
  const before = mine.filter(isSubscribed);
  const other = mine.filter((one) => !isSubscribed(one));
  const elsewhere = happened.filter((one) => one.workspace_id !== own && isSubscribed(one));
  const reasons: string[] = [];
  if (before.length > 0) {
    const last = before
      .map(({ last_at }) => last_at)
      .sort()
      .at(-1)!;
    // Of what happens while it exists, a delivery is retained for as long.
    reasons.push(
      last <= created
        ? `${numbered(before)} happened before it was created, the last at ${at(last)}`
        : `the deliveries of ${numbered(before)} are no longer retained`,
    );
  }
  for (const { workspace_id: id, workspace: name } of elsewhere.filter(isFirstOfItsWorkspace)) {
    const there = elsewhere.filter(({ workspace_id }) => workspace_id === id);
    reasons.push(`${numbered(there)} happened in workspace ${id} (${name})`);
  }
  if (elsewhere.length > 0) reasons.push(`this webhook belongs to workspace ${own} (${workspace})`);
  if (before.length === 0 && other.length > 0) {
    reasons.push(`in its workspace ${own} (${workspace}), only ${numbered(other)} happened`);
  }
  return reasons.length === 0 ? `${begin}, and none has happened.` : `${begin}, but ${reasons.join("; ")}.`;
}

const isFirstOfItsWorkspace = (one: ActivityHistory[number], i: number, all: ActivityHistory): boolean =>
  all.findIndex(({ workspace_id }) => workspace_id === one.workspace_id) === i;

const listed = (names: readonly string[]): string =>
  names.length === 0
    ? "no activity"
    : `${names.slice(0, named).join(", ")}${names.length > named ? ` and ${names.length - named} more` : ""}`;

const numbered = (all: readonly ActivityHistory[number][]): string =>
  listed(all.map(({ count, activity }) => `${count} ${activity}`));
