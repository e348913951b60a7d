import { isObject } from "../../../src/base/object.ts";
import { waitForNextTurn } from "../../../src/base/timing.ts";
import { svcVersion } from "../../../src/base/version.ts";
import { type Disk, readBeginning } from "../../../src/files/disk.ts";
import type { RowTable } from "../live/row-table.ts";
import { State } from "../live/state.ts";
import { formatWriter, listVersions, SchemaMismatchError, Upgrade, type Versions } from "../live/versions.ts";
import { type Collection, type ConsistentContents, type DocumentHead, StateFormatError } from "../port.ts";

const maxSliceLines = 4_000;

/** The number of characters of a document after which other work can run. */
const maxSliceLength = 10_000;

/**
 * Formats contents as one JSON document with one row per line, in pieces of a few thousand rows, and then releases the
 * contents. `head` adds members after the first. The last piece is `documentEnd`.
 */
export async function* createDocument(
  contents: ConsistentContents,
  head: DocumentHead = {},
): AsyncGenerator<string, void> {
  try {
    for (const piece of createDocumentSlices(contents, head)) {
      yield piece;
      // A reader that does not pause must let other work run.
      if (piece.length > maxSliceLength) await waitForNextTurn();
    }
    yield documentEnd;
  } finally {
    contents.end();
  }
}

function* createDocumentSlices(contents: ConsistentContents, head: DocumentHead): Generator<string, void> {
  const fullHead = {
    svc_state: formatVersion,
    ...head,
    written_by: svcVersion,
    collections: listVersions(contents.collections),
  };
  const members = Object.entries(fullHead).map(
    ([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)},\n`,
  );
  yield `{\n${members.join("")}`;
  yield `"sequences": ${JSON.stringify(Object.fromEntries(contents.sequences))},\n"rows": {`;
  yield* createTables(contents.rows, "[", "]", (row) => JSON.stringify(row));
  yield '\n},\n"mappings": {';
  const formatOwner = ([identifier, cluster]: readonly [string, string]) =>
    `${JSON.stringify(identifier)}:${JSON.stringify(cluster)}`;
  yield* createTables(contents.mappings, "{", "}", formatOwner);
  yield "\n}";
}

/** Closes the sections that `createDocumentSlices` opened. */
export const documentEnd = "\n}\n";

/** Formats tables with one item per line. */
function* createTables<Item>(
  tables: ReadonlyMap<string, Iterable<Item>>,
  open: string,
  close: string,
  format: (item: Item) => string,
): Generator<string, void> {
  let separator = "\n";
  for (const [name, items] of tables) {
    yield `${separator}${JSON.stringify(name)}: ${open}`;
    yield* createSlices(items, format);
    yield `\n${close}`;
    separator = ",\n";
  }
}

/** Joins lines into slices, so that a large table is not one string. */
function* createSlices<Item>(items: Iterable<Item>, format: (item: Item) => string): Generator<string, void> {
  let separator = "\n";
  let slice: string[] = [];
  for (const item of items) {
    slice.push(format(item));
    if (slice.length < maxSliceLines) continue;
    yield separator + slice.join(",\n");
    separator = ",\n";
    slice = [];
  }
  if (slice.length > 0) yield separator + slice.join(",\n");
}

export function parseState(document: unknown, collections: readonly Collection[]): State {
  const state = new State(collections);
  const members = requireObject(document, "The document");
  const { svc_state: format, written_by, collections: versions, sequences, rows, mappings } = members;
  if (format === undefined) rejectFormat('The document is not an exported state: "svc_state" is missing');
  const writer = typeof written_by === "string" ? written_by : undefined;
  requireFormat(format, writer);
  const upgrade = new Upgrade(parseVersions(versions ?? {}), collections, writer);
  for (const [name, last] of Object.entries(requireObject(sequences ?? {}, '"sequences"')))
    addSequence(state, name, last);
  for (const [name, list] of Object.entries(requireObject(rows ?? {}, '"rows"'))) {
    if (!Array.isArray(list)) rejectFormat(`"rows"."${name}" is not a list`);
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
  for (const [sequence, getNumbers] of Object.entries(table.declaration.numbers ?? {})) {
    let lastNumber = state.sequences.get(sequence) ?? 0;
    for (const row of table.list({})) lastNumber = Math.max(lastNumber, ...[getNumbers(row as never)].flat());
    if (lastNumber > 0) addSequence(state, sequence, lastNumber);
  }
}

function checkReferences(state: State, table: RowTable): void {
  const { name, key, refersTo } = table.declaration;
  if (refersTo === undefined) return;
  for (const row of table.list({})) {
    for (const [field, target] of Object.entries(refersTo(row as never))) {
      if (state.rows.get(target.collection)?.get(target.key) !== undefined) continue;
      rejectFormat(
        `Row ${key(row as never)} of ${name} has the ${field} ${target.key}, and ${target.collection} has no such row`,
      );
    }
  }
}

/** The largest allowed number. The same number of integers after it can be represented exactly. */
const maxNumber = 2 ** 52;

/** Parses the member "collections" of a head. Fails with StateFormatError. */
export function parseVersions(value: unknown): Versions {
  const versions = requireObject(value, '"collections"');
  for (const [name, version] of Object.entries(versions)) {
    if (!Number.isSafeInteger(version) || (version as number) < 1)
      rejectFormat(`"collections"."${name}" is not a version`);
  }
  return versions as Versions;
}

export function addSequence(state: State, name: string, last: unknown): void {
  if (!Number.isSafeInteger(last) || (last as number) < 0) rejectFormat(`Sequence ${name} is not an integer`);
  if ((last as number) > maxNumber)
    rejectFormat(`Sequence ${name} is at ${last}, above ${maxNumber}: no numbers are left`);
  state.sequences.set(name, last as number);
}

/** Adds a row. With `isTrusted`, the same version of svc has written it, so it is not validated. */
export function addRow(
  state: State,
  upgrade: Upgrade,
  collection: string,
  row: unknown,
  context: string,
  isTrusted = false,
): void {
  const table = findTable(state, collection, context);
  const valid = isTrusted && isObject(row) ? row : validateRow(state, upgrade, collection, row, context);
  const { before, key } = putRow(table, valid, `${context} is not a row of ${collection}`);
  if (before !== undefined) throwMismatch(`${context} has the key of another row of ${collection}, ${key}`);
}

function putRow(table: RowTable, row: object, message: string): ReturnType<RowTable["put"]> {
  try {
    return table.put(row);
  } catch (cause) {
    throw new SchemaMismatchError(message, cause);
  }
}

/** Upgrades and validates a row from outside. `context` names it in the message. Fails with SchemaMismatchError. */
export function validateRow(state: State, upgrade: Upgrade, collection: string, row: unknown, context: string): object {
  const table = findTable(state, collection, context);
  const parsed = table.declaration.schema.safeParse(upgrade.upgradeRow(collection, row));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return throwMismatch(
    `${context} is not a row of ${collection}: ${issue?.path.join(".") || "row"}: ${issue?.message}`,
  );
}

const findTable = (state: State, collection: string, context: string) =>
  state.rows.get(collection) ?? throwMismatch(`this version of svc has no collection ${collection} (${context})`);

function addMapping(state: State, collection: string, identifier: string, cluster: unknown): void {
  const table =
    state.mappings.get(collection) ?? throwMismatch(`this version of svc has no mapping table ${collection}`);
  if (typeof cluster !== "string")
    rejectFormat(`"mappings"."${collection}" maps "${identifier}" to something other than a string`);
  table.set(identifier, cluster);
}

/** Returns the members of an object. Fails with StateFormatError. `context` names the object in the message. */
export function requireObject(value: unknown, context: string): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : rejectFormat(`${context} is not an object`);
}

function rejectFormat(message: string): never {
  throw new StateFormatError(message);
}

function throwMismatch(message: string): never {
  throw new SchemaMismatchError(message);
}

/** The format of checkpoints, journals and exported documents. Rows have versions of their own. */
export const formatVersion = 1;

/**
 * Fails with StateFormatError for a format that this svc cannot read. `writer` is the version of svc that wrote it, if
 * known.
 */
export function requireFormat(format: unknown, writer?: string): void {
  if (format === formatVersion) return;
  throw new StateFormatError(
    `${formatWriter(writer)} wrote it in format ${JSON.stringify(format)}, but this version reads format ${formatVersion}`,
    { repairable: false },
  );
}

/** Distinguishes files by their first bytes: an exported document lacks the journal fields of a state file. */
const filePatterns = {
  exported: /^\s*\{\s*"svc_state":\s*\d+,\s*"written_by":/,
  snapshot: /^\s*\{\s*"svc_state":\s*\d+,\s*"snapshot":\s*\{/,
  state: /^\s*\{\s*"svc_state":/,
} as const;

/** Identifies the contents of a file, damaged or not. "other" is not a state. Fails if the file cannot be read. */
export async function identifyFile(disk: Disk, path: string): Promise<keyof typeof filePatterns | "other"> {
  const text = await readBeginning(disk, path, 256);
  const kinds = Object.keys(filePatterns) as (keyof typeof filePatterns)[];
  return kinds.find((kind) => filePatterns[kind].test(text)) ?? "other";
}
