import { isSecretName, redactUrl } from "../../../src/api/secrets.ts";
import { isoMillis } from "../../../src/base/clock.ts";
import { lookupTable } from "../../../src/base/lookup-table.ts";
import type { Entry } from "../../clock/schedule.ts";
import { type Contract, compositeId } from "../../cluster/contracts/rows.ts";
import type { Attempt, Delivery, WebhookEvent } from "../../webhooks/deliveries.ts";
import type { Subscription } from "../../webhooks/subscriptions.ts";
import type { Row, RowChange } from "./compare.ts";
import { fieldChanges } from "./fields.ts";

type Change = "new" | "changed" | "gone";

/** What a change means, in the words of the domain; `contracts` names contracts by their numbers. */
export function wordsFor(change: RowChange, contractNames: (id: number) => string): string {
  const { collection, key, before, after } = change;
  const told = words[collection.name]?.(change, contractNames);
  if (told !== undefined) return told;
  return `${collection.name.replaceAll("_", " ")} ${harmlessKey(key, after ?? before ?? {})}: ${inGeneral(change)}`;
}

export const kindOf = ({ before, after }: RowChange): Change => (!before ? "new" : !after ? "gone" : "changed");

/** New, gone, or changed in which fields. */
function inGeneral(change: RowChange): string {
  const kind = kindOf(change);
  if (kind !== "changed") return kind;
  const names = fieldChanges(change.before, change.after).map(({ field }) => field.split(/[.[]/)[0]!);
  return `changed (${[...new Set(names)].join(", ")})`;
}

/** Some rows go by a code or a token. */
const harmlessKey = (key: string, row: Row): string =>
  Object.entries(row).some(([name, value]) => isSecretName(name) && value === key) ? "[redacted]" : key;

/** `DRAFT → SIGN` where a field of a row has changed; what there is to say otherwise. */
function moved<R extends object>(change: RowChange, field: keyof R & string, whenNew: (row: R) => string): string {
  const [before, after] = [change.before as R | undefined, change.after as R | undefined];
  if (!before && after) return whenNew(after);
  if (before && after && before[field] !== after[field]) return `${before[field]} → ${after[field]}`;
  return inGeneral(change);
}

type Words = (change: RowChange, contractNames: (id: number) => string) => string;

const about = (id: number | null, names: (id: number) => string): string => (id === null ? "" : ` of ${names(id)}`);
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
  schedule(change) {
    const { kind, ref, due } = either<Entry>(change);
    if (!change.after) return `schedule: ${kind} ${ref} waits no more`;
    return `schedule: ${kind} ${ref} is due ${change.before ? "another time, " : ""}at ${isoMillis(due)}`;
  },
  webhook_subscriptions(change) {
    const { id, url } = either<Subscription>(change);
    return `webhook ${id}: ${moved<Subscription>(change, "status", ({ status }) => `new, ${status}, to ${redactUrl(url)}`)}`;
  },
});
