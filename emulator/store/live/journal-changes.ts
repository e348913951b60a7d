import type { Change } from "./state.ts";

/**
 * Changes as a line of the journal holds them. Rows of one collection that follow each other are written as the first
 * of them and columns: for each field in which any row differs from the first, the values of all the others.
 */
export type JournalChange =
  | readonly ["put", collection: string, first: Row, others?: Columns]
  | readonly ["delete", collection: string, ...keys: string[]]
  | Exclude<Change, Put | Delete>;

type Put = Extract<Change, readonly ["put", ...unknown[]]>;
type Delete = Extract<Change, readonly ["delete", ...unknown[]]>;
type Row = Readonly<Record<string, unknown>>;
type Columns = Readonly<Record<string, readonly unknown[]>>;

/** Changes of one collection keep their order; the order of the collections is free, for they are independent. */
export function toJournalChanges(changes: readonly Change[]): JournalChange[] {
  const parts: (Run | JournalChange)[] = [];
  const newest = new Map<string, Run>();
  for (const change of changes) {
    if (change[0] !== "put" && change[0] !== "delete") {
      parts.push(change);
    } else if (!newest.get(change[1])?.take(change)) {
      const run = change[0] === "put" ? new Puts(change) : new Deletes(change);
      newest.set(change[1], run);
      parts.push(run);
    }
  }
  return parts.map((part) => ("written" in part ? part.written : part));
}

/**
 * The changes of a line, one by one, in an order in which they may be applied again. Undefined if it holds anything
 * else; their rows are not validated.
 */
export function parseJournalChanges(line: unknown): Change[] | undefined {
  return Array.isArray(line) && line.every(isWritten) ? line.flatMap(apart) : undefined;
}

/** Changes of one kind to one collection. */
interface Run {
  /** False: it belongs to another run. */
  take(change: Put | Delete): boolean;
  readonly written: JournalChange;
}

class Deletes implements Run {
  readonly #collection: string;
  readonly #keys: string[];

  constructor([, collection, key]: Delete) {
    this.#collection = collection;
    this.#keys = [String(key)];
  }

  take([kind, , key]: Put | Delete): boolean {
    if (kind === "delete") this.#keys.push(String(key));
    return kind === "delete";
  }

  get written(): JournalChange {
    return ["delete", this.#collection, ...this.#keys];
  }
}

/** Rows with the same fields. */
class Puts implements Run {
  readonly #first: Put;
  /** The first item; most stay alone. */
  #fields: readonly string[] | undefined;
  readonly #others: (readonly unknown[])[] = [];

  constructor(first: Put) {
    this.#first = first;
  }

  take([kind, , row]: Put | Delete): boolean {
    if (kind === "delete") return false;
    this.#fields ??= Object.keys(this.#first[2]);
    let at = 0;
    // Not by Object.keys: its lists would be half of all that a line of many rows makes.
    for (const field in row) {
      if (field !== this.#fields[at]) return false;
      at += 1;
    }
    if (at !== this.#fields.length) return false;
    const values = Object.values(row);
    // JSON leaves a member out that is undefined; in a list it would become null.
    if (values.includes(undefined)) return false;
    this.#others.push(values);
    return true;
  }

  get written(): JournalChange {
    if (this.#others.length === 0) return this.#first as JournalChange;
    const columns: Record<string, readonly unknown[]> = Object.create(null);
    for (const [i, [field, first]] of Object.entries(this.#first[2]).entries()) {
      if (this.#others.some((values) => values[i] !== first)) columns[field] = this.#others.map((values) => values[i]);
    }
    return ["put", this.#first[1], this.#first[2] as Row, columns];
  }
}

function isWritten(part: unknown): part is JournalChange {
  if (!Array.isArray(part) || typeof part[1] !== "string") return false;
  const [kind, , third, fourth, ...rest] = part;
  switch (kind) {
    case "put":
      return isRow(third) && (fourth === undefined || areColumns(fourth)) && rest.length === 0;
    case "delete":
      return part.slice(2).every(isText);
    case "map":
    case "unmap":
      return isText(third) && Array.isArray(fourth) && fourth.every(isText) && rest.length === 0;
    default:
      return kind === "next" && Number.isSafeInteger(third) && third >= 0 && part.length === 3;
  }
}

const isText = (value: unknown): value is string => typeof value === "string";

const isRow = (value: unknown): value is Row => typeof value === "object" && value !== null && !Array.isArray(value);

/** All of one length: a value for each row but the first. */
function areColumns(value: unknown): value is Columns {
  if (!isRow(value)) return false;
  const columns = Object.values(value);
  const [first] = columns;
  return columns.every((column) => Array.isArray(column) && column.length === (first as unknown[]).length);
}

function apart(part: JournalChange): Change[] {
  if (part[0] === "delete") return part.slice(2).map((key) => ["delete", part[1], key as string]);
  if (part[0] !== "put") return [part];
  const [, collection, first, columns = {}] = part;
  const fields = Object.entries(columns);
  const others = fields[0]?.[1].map((_, i) => {
    const own = Object.fromEntries(fields.map(([field, values]) => [field, values[i]]));
    return { ...first, ...own };
  });
  return [first, ...(others ?? [])].map((row) => ["put", collection, row]);
}
