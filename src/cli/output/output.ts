import type { Column } from "../../api/operation.ts";
import { findField, isObject } from "../../base/object.ts";
import { findNearest } from "../../base/text.ts";
import type { GlobalOptions, OutputFormat } from "../parse/globals.ts";
import { UsageError } from "../process/failure.ts";
import type { Host } from "../process/host.ts";
import { createPrinter } from "./print.ts";
import { defaultColumns, readWindowWidth, type StyledLine } from "./styled.ts";
import { fitTable, formatCell, formatRecord } from "./table.ts";

export interface TableView {
  /** Selectable fields. An empty list allows any field. By default, those of the rows. */
  readonly fields?: readonly string[];
  readonly columns?: readonly Column[] | undefined;
  readonly rows?: string | undefined;
  readonly emptyMessage?: string;
  /** Reason for an unexpected empty result. It replaces `none` in every format. */
  readonly emptyReason?: string | undefined;
}

export type Output = ReturnType<typeof createOutput>;

/**
 * Creates the output of a command. Data goes to standard output, everything else to standard error (DECISIONS.md, L1).
 * Lines are for users and can contain untrusted text, because print.ts escapes them.
 */
export function createOutput(host: Host, globals: GlobalOptions) {
  const { stdout } = host;
  const format: OutputFormat = globals.json ? "json" : (globals.format ?? "table");
  const printer = createPrinter(host, globals.color);
  const print = (...lines: readonly StyledLine[]) => printer.printLines("stdout", lines);
  const printDocument = (value: unknown, indent?: number) => printer.printJson("stdout", value, indent);
  const rowFormat = format !== "csv" ? "tsv" : globals.csvSafe ? "csv-safe" : "csv";
  const isText = format === "table" && globals.fields === undefined;
  // An explicit table format also applies to pipes.
  const isTable = format === "table" && (stdout.isTTY === true || globals.format === "table");
  const printRows = (rows: readonly (readonly string[])[]) => printer.printRows(rows, rowFormat);

  /** Returns a value with the selected fields only. */
  const pick = (value: unknown) => (globals.fields ? pickFields(value, globals.fields) : value);

  async function show(value: unknown, view: TableView = {}): Promise<void> {
    await showValue(value, view);
    if (view.emptyReason !== undefined) await note(view.emptyReason);
  }

  async function showValue(value: unknown, view: TableView): Promise<void> {
    const { fields } = globals;
    const rows = findRows(value, view.rows);
    if (fields) checkFields(fields, view.fields ?? listFields(rows ?? []));
    if (format === "json") return printDocument(fields && rows ? rows.map(pick) : pick(value), 2);
    if (format === "ndjson") {
      for (const row of rows ?? [value]) await printDocument(pick(row));
      return;
    }
    if (value === undefined) return;
    const columns = view.columns?.map(getColumnName) ?? [];
    if (rows) {
      const isEmpty = rows.length === 0 && columns.length > 0;
      const hasColumns = isEmpty || rows.some((row) => columns.some((name) => findField(row, name) !== undefined));
      return showRows(rows, view, fields ?? (hasColumns ? columns : listColumns(rows)));
    }
    if (!isObject(value)) return printer.printLines("stdout", [formatCell(value)]);
    const present = columns.filter((name) => Object.hasOwn(value, name));
    const names = fields ?? (present.length > 0 ? present : Object.keys(value));
    if (format === "table") {
      const entries = names.map((name) => [name, formatCell(findField(value, name))] as const);
      if (isTable) return printer.printLines("stdout", formatRecord(entries));
      // A single value is printed without its name, for `KEY=$(svc webhooks hmac-key)`.
      return entries.length === 1 && isOneValue(fields, view)
        ? printRows(entries.map(([, value]) => [value]))
        : printRows(entries);
    }
    return showRows([value], view, names);
  }

  async function showRows(rows: readonly unknown[], view: TableView, columns: readonly string[]): Promise<void> {
    const values = rows.map((row) => columns.map((name) => (isObject(row) ? findField(row, name) : row)));
    const cells = values.map((row) => row.map(formatCell));
    if (format === "csv" || format === "tsv") return printRows([columns, ...cells]);
    if (rows.length === 0)
      return view.emptyReason === undefined ? note(view.emptyMessage ?? "Nothing found") : undefined;
    if (!isTable) return printRows(cells);
    const fullWidth = stdout.isTTY ? defaultColumns : Number.POSITIVE_INFINITY;
    const window = globals.wide ? Number.POSITIVE_INFINITY : (readWindowWidth(stdout, host.env) ?? fullWidth);
    const definitions = new Map(view.columns?.map((column) => [getColumnName(column), column]));
    const { lines, omittedColumns, shortenedColumns, hasLinesBelow } = fitTable(values, {
      columns: columns.map((name) => definitions.get(name) ?? name),
      window,
      // A requested column can be shortened but is never omitted.
      isComplete: globals.fields !== undefined,
    });
    await printer.printLines("stdout", lines, { laidOut: !hasLinesBelow });
    const changes = [
      ...(omittedColumns.length > 0 ? [`Hidden columns: ${omittedColumns.join(", ")}`] : []),
      ...(shortenedColumns.length > 0 ? [`Shortened columns: ${shortenedColumns.join(", ")}`] : []),
    ];
    if (changes.length > 0) await note(`${changes.join(". ")}. To show all: --wide`);
  }

  async function note(line: StyledLine): Promise<void> {
    if (!globals.quiet) await printer.printLines("stderr", [line]);
  }

  return {
    /** Whether users read the output. Selected fields are printed as a table instead. */
    isText,
    /** Selected output format. `table`, the default, is tab-separated when standard output is not a terminal. */
    format,
    show,
    /** Shows the value in a format for programs, or prints the lines for users. */
    showOrPrint: (value: unknown, ...lines: readonly StyledLine[]) => (isText ? print(...lines) : show(value)),
    /** Prints one document of a stream as a line of JSON, or as lines for users. */
    printEvent: (value: unknown, ...lines: readonly StyledLine[]) =>
      format === "table" ? print(...lines) : printDocument(pick(value)),
    print,
    /** Prints lines of a language, whose meaning a line break would change. */
    printUnwrapped: (...lines: readonly StyledLine[]) => printer.printLines("stdout", lines, { laidOut: true }),
    printDocument,
    /** Prints rows of cells, comma-separated on request and otherwise tab-separated. */
    printRows,
    /** Prints the requested data, byte for byte for programs. */
    printContent: printer.printContent,
    /** Prints a line for users on standard error, unless --quiet is given. */
    note,
    warn: (line: StyledLine) => printer.printLines("stderr", [line]),
    /** Prints a JSON document on standard error, for programs that follow events. */
    printDiagnosticDocument: (value: unknown) => printer.printJson("stderr", value),
    /** Shows a line on standard error of a terminal. The next line replaces it, and `undefined` clears it. */
    showStatus: printer.showStatus,
  };
}

/** A single value of several optional ones keeps its name. */
const isOneValue = (requestedFields: readonly string[] | undefined, { columns, fields }: TableView): boolean =>
  (requestedFields ?? columns ?? fields)?.length === 1;

const getColumnName = (column: Column): string => (typeof column === "string" ? column : column.name);

function findRows(value: unknown, name: string | undefined): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  const inner = name !== undefined && isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return Array.isArray(inner) ? inner : undefined;
}

function listColumns(rows: readonly unknown[]): string[] {
  const first = rows[0];
  if (!isObject(first)) return ["value"];
  const plainNames = Object.keys(first).filter((name) => typeof first[name] !== "object" || first[name] === null);
  return (plainNames.length > 0 ? plainNames : Object.keys(first)).slice(0, 6);
}

export const pickFields = (value: unknown, names: readonly string[]): unknown =>
  Object.fromEntries(names.map((name) => [name, findField(value, name) ?? null]));

export const listFields = (rows: readonly unknown[]): readonly string[] => [
  ...new Set(rows.flatMap((row) => (isObject(row) ? Object.keys(row) : []))),
];

/** Throws UsageError for a field that the response does not have. An empty list of `knownFields` allows any field. */
export function checkFields(requestedFields: readonly string[], knownFields: readonly string[]): void {
  if (knownFields.length === 0) return;
  const unknownField = requestedFields.find((name) => !knownFields.includes(name.split(".")[0]!));
  if (unknownField === undefined) return;
  const nearest = findNearest(unknownField.split(".")[0]!, knownFields);
  throw new UsageError(`Unknown field "${unknownField}".${nearest === undefined ? "" : ` Did you mean ${nearest}?`}`, {
    hint: `Fields: ${[...knownFields].sort().join(", ")}`,
  });
}
