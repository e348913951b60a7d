import { isSecretName } from "../../../src/api/secrets.ts";
import { isoMillis } from "../../../src/base/clock.ts";
import { lookupTable } from "../../../src/base/lookup-table.ts";
import type { Entry } from "../../clock/schedule.ts";
import { type Contract, compositeId } from "../../cluster/contracts/rows.ts";
import type { Invitation } from "../../cluster/invitations/rows.ts";
import { shownReceiver, withoutIssued } from "../../http/request-log/shown-target.ts";
import type { Attempt, Delivery, WebhookEvent } from "../../webhooks/deliveries.ts";
import type { Subscription } from "../../webhooks/subscriptions.ts";
import type { Email } from "../../world/emails.ts";
import type { Row, RowChange } from "./compare.ts";
import { fieldChanges } from "./fields.ts";

type Change = "new" | "changed" | "gone";

/** What an entry of the schedule does, by its kind, where that is known. */
export type Does = (kind: string) => string | undefined;

interface Names {
  /** What a contract is called, by its number. */
  readonly contract: (id: number) => string;
  readonly does: Does;
}

/** What a change means, in the words of the domain. */
export function wordsFor(change: RowChange, names: Names): string {
  const { collection, key, before, after } = change;
  const told = words[collection.name]?.(change, names);
  if (told !== undefined) return told;
  return `${collection.name.replaceAll("_", " ")} ${harmlessKey(key, after ?? before ?? {})}: ${inGeneral(change)}`;
}

export const kindOf = ({ before, after }: RowChange): Change => (!before ? "new" : !after ? "gone" : "changed");

/** New, gone, or changed in which fields. */
function inGeneral(change: RowChange): string {
  const kind = kindOf(change);
  if (kind !== "changed") return kind;
  const names = fieldChanges(change).map(({ field }) => field.split(/[.[]/)[0]!);
  return `changed (${[...new Set(names)].join(", ")})`;
}

/** Some rows go by a code or a token. */
const harmlessKey = (key: string, row: Row): string =>
  Object.entries(row).some(([name, value]) => isSecretName(name) && value === key) ? "[redacted]" : withoutIssued(key);

/** `DRAFT → SIGN` where a field of a row has changed; what there is to say otherwise. */
function moved<R extends object>(change: RowChange, field: keyof R & string, whenNew: (row: R) => string): string {
  const [before, after] = [change.before as R | undefined, change.after as R | undefined];
  if (!before && after) return whenNew(after);
  if (before && after && before[field] !== after[field]) return `${before[field]} → ${after[field]}`;
  return inGeneral(change);
}

type Words = (change: RowChange, names: Names) => string;

const about = (id: number | null, { contract }: Names): string => (id === null ? "" : ` of ${contract(id)}`);
const either = <R>({ before, after }: RowChange): R => (after ?? before) as R;

const words = lookupTable<Words>({
  contracts(change) {
    const moves = moved<Contract>(change, "status", ({ status }) => `new, ${status}`);
    return `contract ${compositeId(either<Contract>(change))}: ${moves}`;
  },
  webhook_events(change, names) {
    const { id, activity, contract_id } = either<WebhookEvent>(change);
    return `event ${id}: ${activity}${about(contract_id, names)}${change.before ? `, ${inGeneral(change)}` : ""}`;
  },
  webhook_deliveries(change) {
    const row = either<Delivery>(change);
    const what = moved<Delivery>(
      change,
      "outcome",
      ({ activity, webhook_id }) => `${activity} to webhook ${webhook_id}`,
    );
    const next = change.after && row.next_attempt_at !== null ? `, planned for ${isoMillis(row.next_attempt_at)}` : "";
    return `delivery ${row.id}: ${what}${next}`;
  },
  webhook_attempts(change) {
    const { delivery_id, number, status, error, at } = either<Attempt>(change);
    const answer = `${status ?? error?.code} at ${isoMillis(at)}`;
    return `attempt ${number} of delivery ${delivery_id}: ${change.after ? answer : "gone"}`;
  },
  schedule(change, { does }) {
    const { kind, ref, due } = either<Entry>(change);
    const what = kind === "deliver" ? `next attempt of delivery ${ref}` : `${does(kind) ?? kind} (${kind} ${ref})`;
    if (!change.after) return `schedule: ${what} waits no more`;
    return `schedule: ${what} is due ${change.before ? "another time, " : ""}at ${isoMillis(due)}`;
  },
  invitations(change, names) {
    const { email, contract_id } = either<Invitation>(change);
    return `invitation of ${email}${about(contract_id, names)}: ${moved<Invitation>(change, "state", ({ state }) => `new, ${state}`)}`;
  },
  emails(change, names) {
    const { id, recipient, purpose, contract_id } = either<Email>(change);
    return `e-mail ${id} to ${recipient}, ${purpose}${about(contract_id, names)}: ${inGeneral(change)}`;
  },
  webhook_subscriptions(change) {
    const { id, url } = either<Subscription>(change);
    return `webhook ${id}: ${moved<Subscription>(change, "status", ({ status }) => `new, ${status}, to ${shownReceiver(url)}`)}`;
  },
});
