import type { MappingTable } from "./mapping-table.ts";
import type { Entry, RowTable } from "./row-table.ts";
import { State } from "./state.ts";
import { type Collection, StateRefused } from "./store.ts";

/** Raised when the shape of the document or of a row changes in a way that an older file does not fit. */
export const schemaVersion = 1;

export function refuseVersion(version: unknown): never {
  const message = `another version of svc wrote it (format ${version}; this one reads format ${schemaVersion})`;
  throw new StateRefused(message, { repairable: false });
}

const sliceRows = 4_000;

/**
 * The state as the text of one JSON document, one row per line, in slices of a few thousand rows. The state may be
 * written to between two slices: what stays is in the text; what is changed meanwhile, in its old or new form.
 * `head` adds members at the beginning.
 */
export function documentSlices(state: State, head: Readonly<Record<string, number>> = {}): Generator<string, void> {
  // Rows that are added from this call on are left out: they are the journal's, and without a bound a busy table
  // would never end.
  const bounds = new Map([...state.rows].map(([name, table]) => [name, table.lastOrdinal]));
  return slicesWithin(bounds, state, head);
}

function* slicesWithin(
  bounds: ReadonlyMap<string, number>,
  state: State,
  head: Readonly<Record<string, number>>,
): Generator<string, void> {
  const members = Object.entries({ svc_state: schemaVersion, ...head });
  yield `{\n${members.map(([name, value]) => `${JSON.stringify(name)}: ${value},\n`).join("")}`;
  yield `"sequences": ${JSON.stringify(Object.fromEntries(state.sequences))},\n"rows": {`;
  let separator = "\n";
  for (const [name, table] of state.rows) {
    yield `${separator}${JSON.stringify(name)}: [`;
    yield* rowSlices(table, bounds.get(name)!);
    yield "\n]";
    separator = ",\n";
  }
  yield '\n},\n"mappings": {';
  separator = "\n";
  for (const [name, table] of state.mappings) {
    yield `${separator}${JSON.stringify(name)}: {`;
    yield* mappingSlices(table);
    yield "\n}";
    separator = ",\n";
  }
  yield "\n}";
}

/** Closes what `documentSlices` opened. */
export const documentEnd = "\n}\n";

function* rowSlices(table: RowTable, last: number): Generator<string, void> {
  let separator = "\n";
  let entries: Entry[];
  for (let at = 0; ; at = entries.at(-1)!.ordinal) {
    entries = table.after(at, sliceRows).filter((entry) => entry.ordinal <= last);
    if (entries.length === 0) return;
    yield separator + entries.map((entry) => JSON.stringify(entry.row)).join(",\n");
    separator = ",\n";
  }
}

function* mappingSlices(table: MappingTable): Generator<string, void> {
  let separator = "\n";
  let lines: string[] = [];
  for (const [identifier, cluster] of table.entries()) {
    lines.push(`${JSON.stringify(identifier)}:${JSON.stringify(cluster)}`);
    if (lines.length < sliceRows) continue;
    yield separator + lines.join(",\n");
    separator = ",\n";
    lines = [];
  }
  if (lines.length > 0) yield separator + lines.join(",\n");
}

/** A state from a parsed document. Fails with StateRefused. */
export function stateFrom(document: unknown, collections: readonly Collection[]): State {
  const state = new State(collections);
  const { svc_state: version, sequences, rows, mappings } = membersOf(document, "The document");
  if (version === undefined) refuse('The document has no "svc_state", so it is not an exported state');
  if (version !== schemaVersion) refuseVersion(JSON.stringify(version));
  for (const [name, last] of Object.entries(membersOf(sequences ?? {}, '"sequences"'))) addSequence(state, name, last);
  for (const [name, list] of Object.entries(membersOf(rows ?? {}, '"rows"'))) {
    if (!Array.isArray(list)) refuse(`"rows"."${name}" is not a list`);
    for (const [i, row] of list.entries()) addRow(state, name, row, `${name}[${i}]`);
  }
  for (const [name, owners] of Object.entries(membersOf(mappings ?? {}, '"mappings"'))) {
    for (const [key, cluster] of Object.entries(membersOf(owners, `"mappings"."${name}"`))) {
      addMapping(state, name, key, cluster);
    }
  }
  return state;
}

export function addSequence(state: State, name: string, last: unknown): void {
  if (!Number.isSafeInteger(last)) refuse(`Sequence ${name} has no whole number`);
  state.sequences.set(name, last as number);
}

export function addRow(state: State, collection: string, row: unknown, where: string): void {
  const valid = validRow(state, collection, row, where);
  state.rows.get(collection)?.put(valid);
}

/** A row that comes from outside, validated. `where` names it in the message. Fails with StateRefused. */
export function validRow(state: State, collection: string, row: unknown, where: string): object {
  const table = state.rows.get(collection) ?? refuse(`this version of svc has no collection ${collection} (${where})`);
  const parsed = table.declaration.schema.safeParse(row);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return refuse(`${where} is not a row of ${collection}: ${issue?.path.join(".") || "row"}: ${issue?.message}`);
}

function addMapping(state: State, collection: string, identifier: string, cluster: unknown): void {
  const table = state.mappings.get(collection) ?? refuse(`this version of svc has no mapping table ${collection}`);
  if (typeof cluster !== "string")
    refuse(`"mappings"."${collection}" maps "${identifier}" to something other than a string`);
  table.set(identifier, cluster);
}

function membersOf(value: unknown, where: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) refuse(`${where} is not an object`);
  return value as Record<string, unknown>;
}

function refuse(message: string): never {
  throw new StateRefused(message);
}
