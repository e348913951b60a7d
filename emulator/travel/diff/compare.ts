import { isDeepStrictEqual } from "node:util";
import type { diffSnapshot } from "../../../src/api/emulator/snapshots.ts";
import type { ResultOf } from "../../../src/api/operation.ts";
import { isSecretName, redactText } from "../../../src/api/secrets.ts";
import { toIsoMillis } from "../../../src/base/clock.ts";
import { waitForNextTurn } from "../../../src/base/timing.ts";
import { redactReceiverUrl, redactTokens } from "../../http/request-log/redact.ts";
import type { AnyRows, Collection, ConsistentContents, Mapping, Store, View } from "../../store/port.ts";

/** A row that only exists in one state, or differs between the two. */
export interface RowDifference {
  readonly collection: AnyRows;
  readonly key: string;
  readonly before: DiffRow | undefined;
  readonly after: DiffRow | undefined;
}

/** A difference in the form of the control plane. */
export type DiffItem = ResultOf<typeof diffSnapshot>["items"][number];

export type DiffRow = Readonly<Record<string, unknown>>;

export type StateDifferences = Awaited<ReturnType<typeof compareStates>>;

/** Number of identifiers after which the loop yields to other work. */
const maxBatchRows = 10_000;

/**
 * Returns the differences of `after`, which is read as it is at the start even if it is written to. `before` must not
 * change. Collections are in the given order. Rows are in insertion order, and deleted rows come last.
 */
export async function compareStates(before: Store, after: Store, collections: readonly Collection[]) {
  const [oldContents, newContents] = [before.readContents(), after.readContents()];
  try {
    const rows: RowDifference[] = [];
    const mappings: Awaited<ReturnType<typeof compareMapping>>[] = [];
    for (const collection of collections) {
      if (collection.kind === "rows") {
        for (const difference of compareRows(collection, oldContents, newContents)) rows.push(difference);
      } else mappings.push(await compareMapping(collection, before, newContents));
    }
    const names = [...new Set([...oldContents.sequences.keys(), ...newContents.sequences.keys()])].sort();
    const sequences = names.map((name) => ({
      name,
      from: oldContents.sequences.get(name) ?? 0,
      to: newContents.sequences.get(name) ?? 0,
    }));
    return {
      rows,
      mappings: mappings.filter(({ added, removed, moved }) => added + removed + moved > 0),
      sequences: sequences.filter(({ from, to }) => from !== to),
    };
  } finally {
    oldContents.end();
    newContents.end();
  }
}

function* compareRows(
  collection: AnyRows,
  oldContents: ConsistentContents,
  newContents: ConsistentContents,
): Generator<RowDifference, void> {
  const toKey = (row: DiffRow) => String(collection.key(row as never));
  const listRows = ({ rows }: ConsistentContents) => rows.get(collection.name) as readonly DiffRow[];
  const remaining = new Map(listRows(oldContents).map((row) => [toKey(row), row]));
  for (const after of listRows(newContents)) {
    const key = toKey(after);
    const before = remaining.get(key);
    remaining.delete(key);
    if (before === undefined || !isSame(before, after)) yield { collection, key, before, after };
  }
  for (const [key, before] of remaining) yield { collection, key, before, after: undefined };
}

/** Returns whether two rows are equal as JSON, which omits undefined fields. */
const isSame = (a: DiffRow, b: DiffRow): boolean =>
  a === b || isDeepStrictEqual(a, b) || isDeepStrictEqual(JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b)));

/** Counts the identifiers of a table that only exist in one state, or are mapped to another cluster. */
async function compareMapping(table: Mapping, before: Store, newContents: ConsistentContents) {
  let [added, moved, unchanged] = [0, 0, 0];
  const entries = newContents.mappings.get(table.name)![Symbol.iterator]();
  const compareBatch = (view: View): boolean => {
    for (let i = 0; i < maxBatchRows; i += 1) {
      const { value, done } = entries.next();
      if (done) return false;
      const [identifier, cluster] = value;
      const owner = view.lookup(table, identifier);
      if (owner === undefined) added += 1;
      else if (owner === cluster) unchanged += 1;
      else moved += 1;
    }
    return true;
  };
  while (compareBatch(before)) await waitForNextTurn();
  const size = before.size(table);
  return { table: table.name, added, removed: size - unchanged - moved, moved };
}

/** A field by its path (`signatories[0].action`), and its values before and after. */
export type FieldChange = DiffItem["fields"][number];

const maxShownLength = 200;

/** Fields that are not secret although their names match those of secrets, by collection. */
const nonSecretFields: ReadonlySet<string> = new Set([
  "entities address.state",
  "invitations state",
  "schedule concurrency_key",
  "webhook_attempts error.code",
  "workspaces jurisdictions.iso_code",
]);

/** Returns the fields in which two rows differ, without secrets. Returns all plain values of a new or deleted row. */
export function listFieldChanges({
  collection,
  before,
  after,
}: Pick<RowDifference, "before" | "after" | "collection">) {
  const presentField = (field: string, value: unknown) => presentValue(collection.name, field, value);
  if (before && after) return [...findDifferences(before, after, "", presentField)];
  const row = after ?? before ?? {};
  const plainEntries = Object.entries(row).filter(([, value]) => value !== null && typeof value !== "object");
  return plainEntries.map(
    ([field, value]): FieldChange => ({ field, [after ? "to" : "from"]: presentField(field, value) }),
  );
}

function* findDifferences(
  before: unknown,
  after: unknown,
  path: string,
  present: (path: string, value: unknown) => unknown,
): Generator<FieldChange, void> {
  const [from, to] = [toMembers(before, after), toMembers(after, before)];
  if (from && to && Array.isArray(from) === Array.isArray(to)) {
    for (const name of new Set([...Object.keys(from), ...Object.keys(to)])) {
      const memberPath = Array.isArray(to) ? `${path}[${name}]` : path === "" ? name : `${path}.${name}`;
      yield* findDifferences(from[name as keyof object], to[name as keyof object], memberPath, present);
    }
  } else if (before !== after) {
    yield {
      field: path,
      ...(before !== undefined && { from: present(path, before) }),
      ...(after !== undefined && { to: present(path, after) }),
    };
  }
}

const isComposite = (value: unknown): value is object => typeof value === "object" && value !== null;

/** A missing value counts as an object without members if the other one has members. */
function toMembers(value: unknown, other: unknown): object | undefined {
  if (isComposite(value)) return value;
  const isMissing = value === null || value === undefined;
  return isMissing && isComposite(other) && !Array.isArray(other) && Object.keys(other).length > 0 ? {} : undefined;
}

const timeFieldPattern = /(?:^|[._])(?:at|due|until|now|begins|ends)$/;

/** Secrets are recognized by their names, the names around them, or their format. */
function presentValue(collection: string, path: string, value: unknown): unknown {
  if (isComposite(value)) return truncateValue(redactTokens(redactText(JSON.stringify(value))));
  if (typeof value === "number") return timeFieldPattern.test(path) && value > 1e11 ? toIsoMillis(value) : value;
  if (typeof value !== "string") return value;
  if (isSecretName(path) && !nonSecretFields.has(`${collection} ${path.replace(/\[\d+\]/g, "")}`)) return "[redacted]";
  return truncateValue(/^https?:/.test(value) ? redactReceiverUrl(value) : redactTokens(redactText(value)));
}

const truncateValue = (text: string): string =>
  text.length <= maxShownLength ? text : `${text.slice(0, maxShownLength)}…`;
