import { waitForNextTurn } from "../../../src/base/timing.ts";
import { svcVersion } from "../../../src/base/version.ts";
import { type Disk, readBeginning } from "../../../src/files/disk.ts";
import { sliceRows } from "../live/compaction.ts";
import type { RowTable } from "../live/row-table.ts";
import { State } from "../live/state.ts";
import { listVersions, SchemaMismatchError, Upgrade, type Versions } from "../live/versions.ts";
import { type Collection, type ConsistentContents, type DocumentHead, StateFormatError } from "../port.ts";

/** The number of characters of a document after which other work gets a turn. */
const busyLength = 10_000;

/**
 * Formats contents as one JSON document with one row per line, in pieces of a few thousand rows, and ends them. `head`
 * adds members after the first. The last piece is `documentEnd`.
 */
export async function* createDocument(
  contents: ConsistentContents,
  head: DocumentHead = {},
): AsyncGenerator<string, void> {
  try {
    for (const piece of createDocumentSlices(contents, head)) {
      yield piece;
      // A reader that does not pause must let other work run.
      if (piece.length > busyLength) await waitForNextTurn();
    }
    yield documentEnd;
  } finally {
    contents.end();
  }
}

function* createDocumentSlices(contents: ConsistentContents, head: DocumentHead): Generator<string, void> {
  const all = {
    svc_state: formatVersion,
    ...head,
    written_by: svcVersion,
    collections: listVersions(contents.collections),
  };
  const members = Object.entries(all).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)},\n`);
  yield `{\n${members.join("")}`;
  yield `"sequences": ${JSON.stringify(Object.fromEntries(contents.sequences))},\n"rows": {`;
  let separator = "\n";
  for (const [name, slices] of contents.rows) {
    yield `${separator}${JSON.stringify(name)}: [`;
    yield* createRowSlices(slices);
    yield "\n]";
    separator = ",\n";
  }
  yield '\n},\n"mappings": {';
  separator = "\n";
  for (const [name, owners] of contents.mappings) {
    yield `${separator}${JSON.stringify(name)}: {`;
    yield* createMappingSlices(owners);
    yield "\n}";
    separator = ",\n";
  }
  yield "\n}";
}

/** Closes the sections that `createDocumentSlices` opened. */
export const documentEnd = "\n}\n";

function* createRowSlices(slices: Iterable<readonly object[]>): Generator<string, void> {
  let separator = "\n";
  for (const rows of slices) {
    yield separator + rows.map((row) => JSON.stringify(row)).join(",\n");
    separator = ",\n";
  }
}

function* createMappingSlices(
  owners: Iterable<readonly [identifier: string, cluster: string]>,
): Generator<string, void> {
  let separator = "\n";
  let lines: string[] = [];
  for (const [identifier, cluster] of owners) {
    lines.push(`${JSON.stringify(identifier)}:${JSON.stringify(cluster)}`);
    if (lines.length < sliceRows) continue;
    yield separator + lines.join(",\n");
    separator = ",\n";
    lines = [];
  }
  if (lines.length > 0) yield separator + lines.join(",\n");
}

export function parseState(document: unknown, collections: readonly Collection[]): State {
  const state = new State(collections);
  const members = requireObject(document, "The document");
  const { svc_state: found, written_by, collections: versions, sequences, rows, mappings } = members;
  if (found === undefined) refuse('The document is not an exported state: "svc_state" is missing');
  const by = typeof written_by === "string" ? written_by : undefined;
  requireFormat(found, by);
  const upgrade = new Upgrade({ by, versions: parseVersions(versions ?? {}) }, collections);
  for (const [name, last] of Object.entries(requireObject(sequences ?? {}, '"sequences"')))
    addSequence(state, name, last);
  for (const [name, list] of Object.entries(requireObject(rows ?? {}, '"rows"'))) {
    if (!Array.isArray(list)) refuse(`"rows"."${name}" is not a list`);
    for (const [i, row] of list.entries()) addRow(state, upgrade, name, row, `${name}[${i}]`);
  }
  for (const [name, owners] of Object.entries(requireObject(mappings ?? {}, '"mappings"'))) {
    for (const [key, cluster] of Object.entries(requireObject(owners, `"mappings"."${name}"`))) {
      addMapping(state, name, key, cluster);
    }
  }
  for (const table of state.rows.values()) {
    raiseSequences(state, table);
    checkReferences(state, table);
  }
  return state;
}

/** A user who edited the document may have forgotten its sequences, and the next number could be taken. */
function raiseSequences(state: State, table: RowTable): void {
  for (const [sequence, numbersIn] of Object.entries(table.declaration.numbers ?? {})) {
    let last = state.sequences.get(sequence) ?? 0;
    for (const row of table.list({})) last = Math.max(last, ...[numbersIn(row as never)].flat());
    if (last > 0) addSequence(state, sequence, last);
  }
}

function checkReferences(state: State, table: RowTable): void {
  const { name, key, refersTo } = table.declaration;
  if (refersTo === undefined) return;
  for (const row of table.list({})) {
    for (const [field, to] of Object.entries(refersTo(row as never))) {
      if (state.rows.get(to.collection)?.get(to.key) !== undefined) continue;
      refuse(`Row ${key(row as never)} of ${name} has the ${field} ${to.key}, and ${to.collection} has no such row`);
    }
  }
}

/** The largest allowed number. As many numbers again can be counted exactly after it. */
const maxNumber = 2 ** 52;

/** Parses the member "collections" of a head. Fails with StateFormatError. */
export function parseVersions(value: unknown): Versions {
  const versions = requireObject(value, '"collections"');
  for (const [name, version] of Object.entries(versions)) {
    if (!Number.isSafeInteger(version) || (version as number) < 1) refuse(`"collections"."${name}" is not a version`);
  }
  return versions as Versions;
}

/** Like `addRow`, for a row that the same version of svc has written, without validation. */
export function addOwnRow(state: State, collection: string, row: unknown, where: string): void {
  const table = findTable(state, collection, where);
  try {
    if (table.put(row as object).before === undefined) return;
  } catch (cause) {
    throw new SchemaMismatchError(`${where} is not a row of ${collection}`, cause);
  }
  throwMismatch(`${where} has the key of another row of ${collection}`);
}

export function addSequence(state: State, name: string, last: unknown): void {
  if (!Number.isSafeInteger(last) || (last as number) < 0) refuse(`Sequence ${name} is not an integer`);
  if ((last as number) > maxNumber) refuse(`Sequence ${name} is at ${last}, above ${maxNumber}: no numbers are left`);
  state.sequences.set(name, last as number);
}

export function addRow(state: State, upgrade: Upgrade, collection: string, row: unknown, where: string): void {
  const valid = validateRow(state, upgrade, collection, row, where);
  const { before, key } = state.rows.get(collection)!.put(valid);
  if (before !== undefined) throwMismatch(`${where} has the key of another row of ${collection}, ${key}`);
}

/**
 * Adds a row from outside, which is upgraded and validated. `where` names it in the message. Fails with
 * SchemaMismatchError.
 */
export function validateRow(state: State, upgrade: Upgrade, collection: string, row: unknown, where: string): object {
  const table = findTable(state, collection, where);
  const parsed = table.declaration.schema.safeParse(upgrade.upgradeRow(collection, row));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return throwMismatch(`${where} is not a row of ${collection}: ${issue?.path.join(".") || "row"}: ${issue?.message}`);
}

const findTable = (state: State, collection: string, where: string) =>
  state.rows.get(collection) ?? throwMismatch(`this version of svc has no collection ${collection} (${where})`);

function addMapping(state: State, collection: string, identifier: string, cluster: unknown): void {
  const table =
    state.mappings.get(collection) ?? throwMismatch(`this version of svc has no mapping table ${collection}`);
  if (typeof cluster !== "string")
    refuse(`"mappings"."${collection}" maps "${identifier}" to something other than a string`);
  table.set(identifier, cluster);
}

/** The members of an object. Fails with StateFormatError; `where` names the object in the message. */
export function requireObject(value: unknown, where: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) refuse(`${where} is not an object`);
  return value as Readonly<Record<string, unknown>>;
}

function refuse(message: string): never {
  throw new StateFormatError(message);
}

function throwMismatch(message: string): never {
  throw new SchemaMismatchError(message);
}

/** The format of checkpoints, journals and exported documents. Rows have versions of their own. */
export const formatVersion = 1;

/**
 * Fails with StateFormatError for a format that this svc cannot read. `by` is the version of svc that wrote it, if
 * known.
 */
export function requireFormat(found: unknown, by?: string): void {
  if (found === formatVersion) return;
  const writer = by === undefined ? "another version of svc" : `svc ${by}`;
  const message = `${writer} wrote it in format ${JSON.stringify(found)}, but this version reads format ${formatVersion}`;
  throw new StateFormatError(message, { repairable: false });
}

/** Distinguishes files by their first bytes: an exported document lacks the journal fields of a state file. */
const beginnings = {
  exported: /^\s*\{\s*"svc_state":\s*\d+,\s*"written_by":/,
  snapshot: /^\s*\{\s*"svc_state":\s*\d+,\s*"snapshot":\s*\{/,
  state: /^\s*\{\s*"svc_state":/,
} as const;

/** Identifies what a file holds, damaged or not. "other" holds no state. Fails if the file cannot be read. */
export async function identifyFile(disk: Disk, path: string): Promise<keyof typeof beginnings | "other"> {
  const text = await readBeginning(disk, path, 256);
  const kinds = Object.keys(beginnings) as (keyof typeof beginnings)[];
  return kinds.find((kind) => beginnings[kind].test(text)) ?? "other";
}
