import { isSecretName } from "../../../src/api/secrets.ts";
import { toIsoMillis } from "../../../src/base/clock.ts";
import { lookupTable } from "../../../src/base/object.ts";
import type { ScheduledEntry } from "../../clock/schedule.ts";
import { clockState } from "../../clock/virtual-clock.ts";
import { type Contract, contracts, formatCompositeId } from "../../cluster/contracts/rows.ts";
import type { Invitation } from "../../cluster/invitations/invite.ts";
import type { Email } from "../../domain/emails.ts";
import type { StoredFaults } from "../../faults/faults.ts";
import { redactReceiverUrl, redactTokens } from "../../http/request-log/redact.ts";
import type { SignatoryMapping } from "../../router/mapping/tables.ts";
import { causes } from "../../store/causes.ts";
import type { Delivery, DeliveryAttempt, WebhookEvent } from "../../webhooks/deliveries.ts";
import type { Webhook } from "../../webhooks/webhooks.ts";
import { type DiffItem, type DiffRow, listFieldChanges, type RowDifference, type StateDifferences } from "./compare.ts";

/** The most relevant collections come first. The rest is in the order of the collections. */
const leadingCollections = ["contracts", "webhook_events", "webhook_deliveries", "webhook_attempts", "schedule"];
const getRank = ({ collection: { name } }: RowDifference): number =>
  leadingCollections.includes(name) ? leadingCollections.indexOf(name) : leadingCollections.length;

/** Returns at most `limit` differences in the format of the API, and their number. `describeJob` describes an entry. */
export function describeDiff(
  changes: StateDifferences,
  before: StoredFaults,
  after: StoredFaults,
  describeJob: JobDescriber,
  limit: number,
) {
  const contractChanges = changes.rows.filter(({ collection }) => collection.name === contracts.name);
  const changesById = new Map(contractChanges.map((change) => [Number(change.key), change]));
  const names = { nameContract: (id: number) => getContractName(id, changesById.get(id)), describeJob };
  const rows = changes.rows.filter(isDifference).sort((a, b) => getRank(a) - getRank(b));
  const rowItems = rows.slice(0, limit).map((change) => describeRowDiff(change, names));
  const others = [...changes.mappings.map(describeMappingDiff), ...describeFaultDiff(before, after)];
  // Sequences follow from rows. They are only relevant if a row was added and removed again.
  if (rows.length + others.length === 0)
    others.push(...changes.sequences.filter(({ name }) => name !== "id_sequence").map(describeSequenceDiff));
  const total = rows.length + others.length;
  return { same: total === 0, items: [...rowItems, ...others].slice(0, limit), total };
}

/** Returns whether a change is a difference. The passing of time is not a difference, nor is the cause of a row. */
function isDifference({ collection, before, after }: RowDifference): boolean {
  if (collection.name === causes.name) return false;
  if (collection.name !== clockState.name) return true;
  return before?.mode !== "real" || after?.mode !== "real" || before.speed !== after.speed;
}

function describeRowDiff(change: RowDifference, names: NameContext): DiffItem {
  const { collection, key } = change;
  const isSecret = redactKey(key, pickRow(change)) !== key;
  return {
    what: describeRow(change, names),
    collection: collection.name,
    key: isSecret ? null : key,
    change: getChangeKind(change),
    fields: listFieldChanges(change),
  };
}

/** Returns the contract's name, even if it has changed. A bare number is the ID of an internal row. */
function getContractName(id: number, change: RowDifference | undefined): string {
  const kind = (change?.after ?? change?.before)?.kind;
  return formatCompositeId({ id, kind: kind === "EXECUTED_CONTRACT" ? kind : "TEMPLATE_CONTRACT" });
}

function describeMappingDiff({ table, added, removed, moved }: StateDifferences["mappings"][number]): DiffItem {
  const what = `${table.replaceAll("_", " ")}: ${added} added, ${removed} removed, ${moved} moved to another cluster`;
  const fields = Object.entries({ added, removed, moved }).map(([field, to]) => ({ field, to }));
  return { what, collection: table, key: null, change: "changed", fields };
}

function* describeFaultDiff(before: StoredFaults, after: StoredFaults): Generator<DiffItem, void> {
  for (const id of new Set([...before.faults, ...after.faults].map((fault) => fault.id))) {
    const [oldFault, now] = [before, after].map(({ faults }) => faults.find((fault) => fault.id === id));
    if (oldFault && now && oldFault.matched === now.matched && oldFault.hit === now.hit) continue;
    const matchSummary =
      oldFault && now
        ? `${now.matched - oldFault.matched} more matches, ${now.hit - oldFault.hit} affected`
        : undefined;
    const change = !oldFault ? "new" : !now ? "gone" : "changed";
    const what = `fault ${id}: ${matchSummary ?? change}`;
    yield { what, collection: "faults", key: String(id), change, fields: [] };
  }
}

const describeSequenceDiff = ({ name, from, to }: StateDifferences["sequences"][number]): DiffItem => ({
  what: `sequence ${name}: ${from} → ${to}`,
  collection: "sequences",
  key: null,
  change: "changed",
  fields: [{ field: name, from, to }],
});

type JobDescriber = (kind: string) => string | undefined;

interface NameContext {
  readonly nameContract: (id: number) => string;
  readonly describeJob: JobDescriber;
}

function describeRow(change: RowDifference, names: NameContext): string {
  const { collection, key } = change;
  const description = rowDescribers[collection.name]?.(change, names);
  if (description !== undefined) return description;
  return `${collection.name.replaceAll("_", " ")} ${redactKey(key, pickRow(change))}: ${describeGenerally(change)}`;
}

const getChangeKind = ({ before, after }: RowDifference): DiffItem["change"] =>
  !before ? "new" : !after ? "gone" : "changed";

function describeGenerally(change: RowDifference): string {
  const kind = getChangeKind(change);
  if (kind !== "changed") return kind;
  const names = listFieldChanges(change).map(({ field }) => field.split(/[.[]/)[0]!);
  return `changed (${[...new Set(names)].join(", ")})`;
}

/** Keys of some rows are codes or tokens. */
const redactKey = (key: string, row: DiffRow): string =>
  Object.entries(row).some(([name, value]) => isSecretName(name) && value === key) ? "[redacted]" : redactTokens(key);

/** Returns `DRAFT → SIGN` if a field of a row has changed, otherwise another description. */
function describeFieldChange<R extends object>(
  change: RowDifference,
  field: keyof R & string,
  describeNew: (row: R) => string,
): string {
  const [before, after] = [change.before as R | undefined, change.after as R | undefined];
  if (!before && after) return describeNew(after);
  if (before && after && before[field] !== after[field]) return `${before[field]} → ${after[field]}`;
  return describeGenerally(change);
}

type RowDescriber = (change: RowDifference, names: NameContext) => string;

const formatContractSuffix = (id: number | null, { nameContract }: NameContext): string =>
  id === null ? "" : ` of ${nameContract(id)}`;
const pickRow = <R>({ before, after }: RowDifference): R => (after ?? before) as R;

const rowDescribers = lookupTable<RowDescriber>({
  contracts(change) {
    const statusChange = describeFieldChange<Contract>(change, "status", ({ status }) => `new, ${status}`);
    return `contract ${formatCompositeId(pickRow<Contract>(change))}: ${statusChange}`;
  },
  webhook_events(change, names) {
    const { id, activity, contract_id } = pickRow<WebhookEvent>(change);
    return `event ${id}: ${activity}${formatContractSuffix(contract_id, names)}${change.before ? `, ${describeGenerally(change)}` : ""}`;
  },
  webhook_deliveries(change) {
    const row = pickRow<Delivery>(change);
    const outcomeChange = describeFieldChange<Delivery>(
      change,
      "outcome",
      ({ activity, webhook_id }) => `${activity} to webhook ${webhook_id}`,
    );
    const nextAttempt =
      change.after && row.next_attempt_at !== null ? `, planned for ${toIsoMillis(row.next_attempt_at)}` : "";
    return `delivery ${row.id}: ${outcomeChange}${nextAttempt}`;
  },
  webhook_attempts(change) {
    const { delivery_id, scheduled_number, status, error, at } = pickRow<DeliveryAttempt>(change);
    const label = scheduled_number === null ? "resend" : `attempt ${scheduled_number}`;
    const result = `${status ?? error?.code} at ${toIsoMillis(at)}`;
    return `${label} of delivery ${delivery_id}: ${change.after ? result : "removed"}`;
  },
  schedule(change, { describeJob }) {
    const { kind, ref, due } = pickRow<ScheduledEntry>(change);
    const job =
      kind === "deliver" ? `next attempt of delivery ${ref}` : `${describeJob(kind) ?? kind} (${kind} ${ref})`;
    if (!change.after) return `schedule: ${job} removed`;
    return `schedule: ${job} is ${change.before ? "rescheduled to" : "due at"} ${toIsoMillis(due)}`;
  },
  signatories(change) {
    const { id, cluster } = pickRow<SignatoryMapping>(change);
    return `signatory ${id} of ${cluster}: ${describeGenerally(change)}`;
  },
  invitations(change, names) {
    const { email, contract_id } = pickRow<Invitation>(change);
    return `invitation of ${email}${formatContractSuffix(contract_id, names)}: ${describeFieldChange<Invitation>(change, "state", ({ state }) => `new, ${state}`)}`;
  },
  emails(change, names) {
    const { id, recipient, purpose, contract_id } = pickRow<Email>(change);
    return `e-mail ${id} to ${recipient}, ${purpose}${formatContractSuffix(contract_id, names)}: ${describeGenerally(change)}`;
  },
  webhook_subscriptions(change) {
    const { id, url } = pickRow<Webhook>(change);
    return `webhook ${id}: ${describeFieldChange<Webhook>(change, "status", ({ status }) => `new, ${status}, to ${redactReceiverUrl(url)}`)}`;
  },
});
