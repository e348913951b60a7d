import { durationWords } from "../../base/duration.ts";
import type { listActivities } from "../emulator/activities.ts";
import type { ResultOf } from "../operation.ts";
import { deliveredKeptMs } from "../webhook-retries.ts";

/** What happened, by workspace and activity. */
export type Happened = ResultOf<typeof listActivities>;

interface Receiver {
  readonly workspace_id: number;
  readonly workspace: string;
  readonly only_for_activities: readonly string[];
  readonly created_at: string;
}

/** So many activities are named. */
const named = 5;

export interface Telling {
  /** How times are written. */
  readonly at: (iso: string) => string;
  /** Virtual time, in milliseconds; undefined: not known. */
  readonly now?: number | undefined;
}

/** Why no delivery of a webhook is kept: a sentence. Undefined: what happened is not known. */
export function nothingSent(webhook: Receiver, happened: Happened | undefined, { at, now }: Telling): string {
  const { workspace_id: own, workspace, only_for_activities: wanted, created_at: created } = webhook;
  const mayBeDropped = now !== undefined && now - Date.parse(created) > deliveredKeptMs;
  const nothing = mayBeDropped
    ? `Nothing was sent in the ${durationWords(deliveredKeptMs)} for which deliveries are kept`
    : "Nothing was sent yet";
  const wants = `${nothing}: it wants ${listed(wanted)}`;
  if (happened === undefined) return `${wants}.`;
  const isWanted = ({ activity }: Happened[number]) => wanted.includes(activity);
  const mine = happened.filter(({ workspace_id }) => workspace_id === own);
  const before = mine.filter(isWanted);
  const other = mine.filter((one) => !isWanted(one));
  const elsewhere = happened.filter((one) => one.workspace_id !== own && isWanted(one));
  const reasons: string[] = [];
  if (before.length > 0) {
    const last = before
      .map(({ last_at }) => last_at)
      .sort()
      .at(-1)!;
    // Of what happens while it is there, a delivery is kept for as long.
    reasons.push(
      last <= created
        ? `${numbered(before)} happened before it was created, the last at ${at(last)}`
        : `what came of ${numbered(before)} is not kept any more`,
    );
  }
  for (const { workspace_id: id, workspace: name } of elsewhere.filter(isFirstOfItsWorkspace)) {
    const there = elsewhere.filter(({ workspace_id }) => workspace_id === id);
    reasons.push(`${numbered(there)} happened, in workspace ${id} (${name})`);
  }
  if (elsewhere.length > 0) reasons.push(`this webhook belongs to workspace ${own} (${workspace})`);
  if (before.length === 0 && other.length > 0) {
    const what = mayBeDropped ? "what is kept of what happened" : "what happened";
    reasons.push(`${what} in its workspace ${own} (${workspace}) is ${numbered(other)}, which it does not want`);
  }
  const none = mayBeDropped ? "none that is kept has happened" : "none has happened";
  return reasons.length === 0 ? `${wants}, and ${none}.` : `${wants}, and ${reasons.join("; ")}.`;
}

const isFirstOfItsWorkspace = (one: Happened[number], i: number, all: Happened): boolean =>
  all.findIndex(({ workspace_id }) => workspace_id === one.workspace_id) === i;

const listed = (names: readonly string[]): string =>
  names.length === 0
    ? "no activity"
    : `${names.slice(0, named).join(", ")}${names.length > named ? ` and ${names.length - named} more` : ""}`;

const numbered = (all: readonly Happened[number][]): string =>
  listed(all.map(({ count, activity }) => `${count} ${activity}`));
