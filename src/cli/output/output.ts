import { UsageError } from "../failure.ts";
import type { Format, Globals } from "../globals.ts";
import type { Host } from "../host.ts";
import { meant } from "../suggest.ts";
import { hasColour } from "./colour.ts";
import { cell, csvLine, record, table, tsvLine } from "./text.ts";
import { write } from "./write.ts";

type Style = (text: string) => string;
export interface Paint {
  readonly bold: Style;
  readonly dim: Style;
  readonly red: Style;
  readonly green: Style;
  readonly yellow: Style;
  readonly cyan: Style;
}

const same: Style = (text) => text;
const plain: Paint = { bold: same, dim: same, red: same, green: same, yellow: same, cyan: same };

/** How an answer is laid out where it is a table. */
export interface View {
  /** Names of the fields that may be chosen; empty when they are free. */
  readonly fields?: readonly string[];
  readonly columns?: readonly string[] | undefined;
  /** The field that holds the rows. */
  readonly rows?: string | undefined;
  /** Says that there is nothing, to people: `No webhooks`. */
  readonly none?: string;
}

/** Data on standard output, everything else on standard error (cli-conventions.md, 1.1). */
export interface Output {
  /** What the flags ask for; `table` is tab-separated when standard output is no terminal. */
  readonly format: Format;
  /** Colours for standard output and for standard error. */
  paint(stream: "stdout" | "stderr"): Promise<Paint>;
  /** Prints an answer. */
  show(value: unknown, view?: View): Promise<void>;
  /** Prints one document of a stream: a line of JSON, or a line for people. */
  event(value: unknown, line: string): Promise<void>;
  /** Prints text or bytes as they are. */
  raw(data: string | Uint8Array): Promise<void>;
  /** A line for people on standard error; silent under --quiet and when standard output is JSON. */
  note(line: string): Promise<void>;
  /** A line on standard error that is never left out. */
  warn(line: string): Promise<void>;
}

export function createOutput(host: Host, globals: Globals): Output {
  const { stdout, stderr, env } = host;
  const format = globals.json ? "json" : (globals.format ?? "table");
  const out = (text: string | Uint8Array) => write(stdout, text);

  const paint = async (name: "stdout" | "stderr"): Promise<Paint> => {
    if (!hasColour(host[name], globals.color, env)) return plain;
    return (await import("./paint.ts")).colours();
  };

  async function show(value: unknown, view: View = {}): Promise<void> {
    const chosen = globals.fields;
    if (chosen) checkFields(chosen, view.fields ?? []);
    const rows = rowsOf(value, view.rows);
    if (format === "json") {
      const document = chosen === undefined ? value : rows ? rows.map((row) => pick(row, chosen)) : pick(value, chosen);
      return out(`${JSON.stringify(document ?? null, null, 2)}\n`);
    }
    if (format === "ndjson") {
      for (const row of rows ?? [value]) await out(`${JSON.stringify(chosen ? pick(row, chosen) : row)}\n`);
      return;
    }
    if (value === undefined) return;
    if (rows) return showRows(rows, chosen ?? view.columns ?? columnsOf(rows), view.none);
    if (!isObject(value)) return out(`${cell(value)}\n`);
    const names = chosen ?? view.columns?.filter((name) => Object.hasOwn(value, name)) ?? Object.keys(value);
    if (format === "table" && stdout.isTTY) {
      const { dim } = await paint("stdout");
      return out(
        record(
          names.map((name) => [name, cell(at(value, name))] as const),
          dim,
        ),
      );
    }
    if (format === "table") {
      for (const name of names) await out(tsvLine([name, cell(at(value, name))]));
      return;
    }
    return showRows([value], names, view.none);
  }

  async function showRows(rows: readonly unknown[], columns: readonly string[], none = "Nothing found"): Promise<void> {
    const cells = rows.map((row) => columns.map((name) => cell(isObject(row) ? at(row, name) : row)));
    if (format === "csv" || format === "tsv") {
      const line = format === "csv" ? csvLine : tsvLine;
      await out(line(columns));
      for (const row of cells) await out(line(row));
      return;
    }
    if (rows.length === 0) return note(none);
    if (!stdout.isTTY) {
      for (const row of cells) await out(tsvLine(row));
      return;
    }
    const { bold } = await paint("stdout");
    return out(
      table(
        cells,
        columns.map((name) => name.replaceAll("_", " ").toUpperCase()),
        bold,
      ),
    );
  }

  async function note(line: string): Promise<void> {
    if (!globals.quiet && !globals.json) await write(stderr, `${line}\n`);
  }

  return {
    format,
    paint,
    show,
    event: (value, line) => out(format === "table" ? `${line}\n` : `${JSON.stringify(value)}\n`),
    raw: out,
    note,
    warn: (line) => write(stderr, `${line}\n`),
  };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function rowsOf(value: unknown, name: string | undefined): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  const inner = name !== undefined && isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return Array.isArray(inner) ? inner : undefined;
}

/** Where nothing says which columns to show: the plain fields of the first row, six at most. */
function columnsOf(rows: readonly unknown[]): string[] {
  const first = rows[0];
  if (!isObject(first)) return ["value"];
  const plainNames = Object.keys(first).filter((name) => typeof first[name] !== "object" || first[name] === null);
  return (plainNames.length > 0 ? plainNames : Object.keys(first)).slice(0, 6);
}

/** A field by its path: `owner.email`. */
const at = (value: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((inner, step) => (hasField(inner, step) ? inner[step] : undefined), value);

const hasField = (value: unknown, name: string): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name);

const pick = (value: unknown, names: readonly string[]): unknown =>
  Object.fromEntries(names.map((name) => [name, at(value, name) ?? null]));

/** Refuses a field that the answer does not have, before anything is printed. */
export function checkFields(chosen: readonly string[], known: readonly string[]): void {
  if (known.length === 0) return;
  for (const name of chosen) {
    const first = name.split(".")[0]!;
    if (!known.includes(first)) {
      throw new UsageError(`Unknown field "${name}". ${meant(first, known)}`, {
        hint: `Fields: ${[...known].sort().join(", ")}`,
      });
    }
  }
}
