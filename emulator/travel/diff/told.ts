import { clockState } from "../../clock/virtual-clock.ts";
import { compositeId, contracts } from "../../cluster/contracts/rows.ts";
import type { KeptFaults } from "../../faults/faults.ts";
import { causes } from "../../store/causes.ts";
import type { Changes, MappingChange, RowChange, SequenceChange } from "./compare.ts";
import { type FieldChange, fieldChanges } from "./fields.ts";
import { type Does, kindOf, wordsFor } from "./words.ts";

/** One difference, in words first. */
export interface Item {
  readonly what: string;
  readonly collection: string;
  readonly key: string | null;
  readonly change: "new" | "changed" | "gone";
  readonly fields: FieldChange[];
}

export interface Told {
  readonly same: boolean;
  readonly items: readonly Item[];
}

/** What people look for comes first; the rest in the order of the collections. */
const first = ["contracts", "webhook_events", "webhook_deliveries", "webhook_attempts", "schedule"];
const placeOf = ({ collection }: Item): number =>
  first.includes(collection) ? first.indexOf(collection) : first.length;

/** Differences as they are told; `does` says what an entry of the schedule does. */
export function told(changes: Changes, before: KeptFaults, after: KeptFaults, does: Does): Told {
  const rows = changes.rows.filter(isDifference);
  const items = [
    ...rows.map((change) => ofRow(change, changes.rows, does)),
    ...changes.mappings.map(ofMapping),
    ...ofFaults(before, after),
  ].sort((a, b) => placeOf(a) - placeOf(b));
  // Numbers follow from rows; alone they tell that something came and went.
  if (items.length === 0) items.push(...changes.sequences.filter(({ name }) => name !== "id_sequence").map(ofSequence));
  return { same: items.length === 0, items };
}

/** That time passes by itself is no difference, nor is why something came about. */
function isDifference({ collection, before, after }: RowChange): boolean {
  if (collection.name === causes.name) return false;
  if (collection.name !== clockState.name) return true;
  return before?.mode !== "real" || after?.mode !== "real" || before.speed !== after.speed;
}

function ofRow(change: RowChange, all: readonly RowChange[], does: Does): Item {
  const { collection, key } = change;
  const what = wordsFor(change, { contract: (id) => contractName(id, all), does });
  const fields = fieldChanges(change);
  const isSecret = fields.some(({ from, to }) => (from ?? to) === "[redacted]") && what.includes("[redacted]");
  return { what, collection: collection.name, key: isSecret ? null : key, change: kindOf(change), fields };
}

/** As the contract is called, where it has changed too; by its number alone it is one of the service itself. */
function contractName(id: number, all: readonly RowChange[]): string {
  const found = all.find(({ collection, key }) => collection.name === contracts.name && key === String(id));
  const kind = (found?.after ?? found?.before)?.kind;
  return compositeId({ id, kind: kind === "EXECUTED_CONTRACT" ? kind : "TEMPLATE_CONTRACT" });
}

function ofMapping({ table, added, removed, moved }: MappingChange): Item {
  const what = `${table.replaceAll("_", " ")}: ${added} added, ${removed} removed, ${moved} of another cluster`;
  const counted = Object.entries({ added, removed, moved }).map(([field, to]) => ({ field, to }));
  return { what, collection: table, key: null, change: "changed", fields: counted };
}

function* ofFaults(before: KeptFaults, after: KeptFaults): Generator<Item, void> {
  for (const id of new Set([...before.faults, ...after.faults].map((fault) => fault.id))) {
    const [old, now] = [before, after].map(({ faults }) => faults.find((fault) => fault.id === id));
    if (old && now && old.matched === now.matched && old.hit === now.hit) continue;
    const met = old && now ? `met ${now.matched - old.matched} times more, hit ${now.hit - old.hit}` : undefined;
    const change = !old ? "new" : !now ? "gone" : "changed";
    const what = `fault ${id}: ${met ?? change}`;
    yield { what, collection: "faults", key: String(id), change, fields: [] };
  }
}

const ofSequence = ({ name, from, to }: SequenceChange): Item => ({
  what: `numbers of ${name}: ${from} were given, now ${to}`,
  collection: "sequences",
  key: null,
  change: "changed",
  fields: [{ field: name, from, to }],
});
